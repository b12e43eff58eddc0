// ONNX operators that rearrange, join, cut and fill tensors.
// Shapes are known at build time, so most of these cost nothing when the graph runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "base/fail.h"
#include "formats/onnx/node_context.h"

namespace quern::onnx {
namespace {

// The same elements under another shape, as a value of its own.
void out_reshaped(NodeContext& c, ValueId x, const Dims& dims) {
  c.out(0, c.g().op("shape.reshape", {x}, {{"shape", dims}}));
}

// 0 keeps an extent and -1 is what is left over.
Result<void> reshape(NodeContext& c) {
  const ValueId x = c.in(0);
  const Dims dims = c.g().dims(x);
  QUERN_ASSIGN_OR_RETURN(Dims wanted, c.ints(1));
  int64_t known = 1;
  auto inferred = wanted.end();
  for (auto it = wanted.begin(); it != wanted.end(); ++it) {
    const auto i = static_cast<size_t>(it - wanted.begin());
    if (*it == 0 && c.integer("allowzero", 0) == 0 && i < dims.size()) *it = dims[i];
    if (*it == -1)
      inferred = it;
    else if (__builtin_mul_overflow(known, *it, &known))
      return fail::invalid("Reshape has a shape of more than 2^63 elements.");
  }
  // A remainder is caught by the reshape itself, whose counts then differ.
  if (inferred != wanted.end()) *inferred = known == 0 ? 0 : count_of(dims) / known;
  out_reshaped(c, x, wanted);
  return c.done();
}

// Two dims: the product before the axis, and the rest.
Result<void> flatten(NodeContext& c) {
  const Dims dims = c.g().dims(c.in(0));
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = c.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return fail::invalid("Flatten has the axis {}.", axis);
  const int64_t rows = count_of({dims.begin(), dims.begin() + axis});
  out_reshaped(c, c.in(0), {rows, count_of({dims.begin() + axis, dims.end()})});
  return c.done();
}

// Axes from the input of new versions or the attribute of old ones.
Result<Dims> axes_of(NodeContext& c, size_t input, int64_t rank) {
  Dims axes = c.integers("axes");
  if (c.has(input)) {
    QUERN_ASSIGN_OR_RETURN(axes, c.ints(input));
  }
  for (int64_t& axis : axes) {
    QUERN_ASSIGN_OR_RETURN(axis, normal_axis(axis, rank));
  }
  return axes;
}

// Axes come as attribute or as input, by version.
Result<void> squeeze(NodeContext& c) {
  const Dims dims = c.g().dims(c.in(0));
  QUERN_ASSIGN_OR_RETURN(const Dims axes, axes_of(c, 1, static_cast<int64_t>(dims.size())));
  const std::set<int64_t> dropped(axes.begin(), axes.end());
  Dims kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_dropped = axes.empty() ? dims[i] == 1 : dropped.contains(static_cast<int64_t>(i));
    if (!is_dropped) kept.push_back(dims[i]);
  }
  out_reshaped(c, c.in(0), kept);
  return c.done();
}

Result<void> unsqueeze(NodeContext& c) {
  const Dims dims = c.g().dims(c.in(0));
  const size_t given = c.has(1) ? c.ints(1).value_or(Dims()).size() : c.integers("axes").size();
  QUERN_ASSIGN_OR_RETURN(Dims axes, axes_of(c, 1, static_cast<int64_t>(dims.size() + given)));
  std::ranges::sort(axes);
  Dims wide = dims;
  for (const int64_t axis : axes)
    wide.insert(wide.begin() + std::min<int64_t>(axis, static_cast<int64_t>(wide.size())), 1);
  out_reshaped(c, c.in(0), wide);
  return c.done();
}

// Without the attribute, the dims in reverse.
Result<void> transpose(NodeContext& c) {
  Dims reversed(c.g().dims(c.in(0)).size());
  std::iota(reversed.rbegin(), reversed.rend(), int64_t{0});
  c.out(0, c.g().op("shape.permute", {c.in(0)}, {{"order", c.integers("perm", reversed)}}));
  return c.done();
}

// Of any number of inputs.
Result<void> concat(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", 0, c.g().rank(c.in(0))));
  c.out(0, c.g().op("shape.concat", c.all_inputs(), {{"dim", axis}}));
  return c.done();
}

// Equal parts, given sizes, or a number of parts of which the last may be smaller.
Result<void> split(NodeContext& c) {
  const Dims dims = c.g().dims(c.in(0));
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", 0, static_cast<int64_t>(dims.size())));
  const int64_t extent = dims[static_cast<size_t>(axis)];
  Dims sizes = c.integers("split");
  if (c.has(1)) {
    QUERN_ASSIGN_OR_RETURN(sizes, c.ints(1));
  }
  if (sizes.empty()) {  // equal parts, the last one short
    const auto parts = static_cast<int64_t>(c.node().outputs.size());
    if (parts == 0) return fail::invalid("Split has no outputs.");
    const int64_t size = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<int64_t>(extent - i * size, 0, size));
  }
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > extent - start) {
      return fail::invalid("Split has a part of {} elements after {} of {}.", sizes[i], start,
                           extent);
    }
    c.out(i, c.g().slice(c.in(0), axis, start, start + sizes[i]));
    start += sizes[i];
  }
  return c.done();
}

// The elements of one axis that start, end and step select, as NumPy does.
std::vector<int64_t> slice_indices(int64_t start, int64_t end, int64_t step, int64_t extent) {
  std::vector<int64_t> indices;
  // Starts and ends may be the ends of int64, which files use for "all": sums with them must not
  // overflow.
  step = std::clamp(step, -extent - 1, extent + 1);  // longer steps reach as far
  const auto from_front = [&](int64_t i) {
    return i < 0 ? std::max<int64_t>(i, -extent - 1) + extent : i;
  };
  if (step > 0) {
    for (int64_t i = std::clamp<int64_t>(from_front(start), 0, extent);
         i < std::min(from_front(end), extent); i += step) {
      indices.push_back(i);
      // The next i would pass the extent: stop before the sum.
      if (i > extent - step) break;
    }
  } else if (step < 0) {
    const int64_t stop = std::max<int64_t>(from_front(end), -1);
    for (int64_t i = std::min(from_front(start), extent - 1); i > stop; i += step) {
      indices.push_back(i);
      if (i < -step) break;
    }
  }
  return indices;
}

// Inputs from version 10 on, attributes before.
Result<void> slice(NodeContext& c) {
  ValueId y = c.in(0);
  const Dims dims = c.g().dims(y);
  Dims starts = c.integers("starts"), ends = c.integers("ends"), axes = c.integers("axes"), steps;
  if (c.has(1)) {
    QUERN_ASSIGN_OR_RETURN(starts, c.ints(1));
    QUERN_ASSIGN_OR_RETURN(ends, c.ints(2));
  }
  if (c.has(3)) {
    QUERN_ASSIGN_OR_RETURN(axes, c.ints(3));
  }
  if (c.has(4)) {
    QUERN_ASSIGN_OR_RETURN(steps, c.ints(4));
  }
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  steps.resize(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size()) {
    return fail::invalid("Slice has {} starts, {} ends and {} axes.", starts.size(), ends.size(),
                         axes.size());
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    QUERN_ASSIGN_OR_RETURN(const int64_t axis,
                           normal_axis(axes[i], static_cast<int64_t>(dims.size())));
    const int64_t extent = dims[static_cast<size_t>(axis)];
    if (!c.g().allows(extent)) return c.done();
    y = c.g().take(y, axis, slice_indices(starts[i], ends[i], steps[i], extent));
  }
  out_reshaped(c, y, c.g().dims(y));
  return c.done();
}

// Broadcasting in both directions.
Result<void> expand(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const Dims wanted, c.ints(1));
  const auto common = common_shape(c.g().dims(c.in(0)), wanted);
  if (!common) return fail::invalid("The shapes of Expand do not broadcast.");
  c.out(0, c.g().op("shape.broadcast", {c.in(0)}, {{"shape", *common}}));
  return c.done();
}

// Repeats along each axis.
Result<void> tile(NodeContext& c) {
  ValueId y = c.in(0);
  QUERN_ASSIGN_OR_RETURN(const Dims repeats, c.ints(1));
  if (repeats.size() != c.g().dims(y).size())
    return fail::invalid("Tile has {} repeats.", repeats.size());
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] < 0 || repeats[axis] > 65536)
      return fail::invalid("Tile repeats {} times.", repeats[axis]);
    const std::vector<ValueId> copies(static_cast<size_t>(repeats[axis]), y);
    y = repeats[axis] == 0 ? c.g().slice(y, static_cast<int64_t>(axis), 0, 0)
                           : c.g().concat(copies, static_cast<int64_t>(axis));
  }
  out_reshaped(c, y, c.g().dims(y));
  return c.done();
}

// Where element i of the padded axis comes from; i counts from the first element before padding.
int64_t padded_source(const std::string& mode, int64_t i, int64_t extent) {
  if (mode == "edge") return std::clamp<int64_t>(i, 0, extent - 1);
  if (mode == "wrap") return ((i % extent) + extent) % extent;
  if (extent == 1) return 0;
  //   extent 4:  3 2 1 | 0 1 2 3 | 2 1 0 1 ...   with the period 6
  const int64_t period = 2 * (extent - 1);  // reflect, without repeating the edge
  const int64_t phase = ((i % period) + period) % period;
  return phase < extent ? phase : period - phase;
}

// Constant, edge, reflect and wrap; negative pads cut.
Result<void> pad(NodeContext& c) {
  TensorAlgebra& g = c.g();
  ValueId y = c.in(0);
  const auto rank = g.rank(y);
  Dims pads = c.integers("pads"), axes;
  double value = c.number("value", 0);
  if (c.has(1)) {
    QUERN_ASSIGN_OR_RETURN(pads, c.ints(1));
  }
  if (c.has(2)) {
    QUERN_ASSIGN_OR_RETURN(value, c.known_number(2));
  }
  QUERN_ASSIGN_OR_RETURN(axes, axes_of(c, 3, rank));
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  if (pads.size() != 2 * axes.size()) return fail::invalid("Pad has {} pads.", pads.size());
  const std::string mode = c.text("mode", "constant");
  for (size_t i = 0; i < axes.size(); ++i) {
    // All begins, then all ends.
    int64_t before = pads[i], after = pads[i + axes.size()];
    if (std::min(before, after) < -kMaxTable || std::max(before, after) > kMaxTable) {
      return fail::invalid("Pad has the pads {} and {}.", before, after);
    }
    if (g.has_error()) return c.done();
    int64_t extent = g.dims(y)[static_cast<size_t>(axes[i])];
    // Negative pads cut.
    const int64_t start = std::max<int64_t>(-before, 0),
                  end = extent - std::max<int64_t>(-after, 0);
    y = g.slice(y, axes[i], start, end);
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
    extent = end - start;
    if (mode == "constant") {
      y = g.pad(y, axes[i], before, after, value);
      continue;
    }
    if (extent < 1) return fail::invalid("Pad repeats an axis without elements.");
    if (!g.allows(before + extent + after)) return c.done();
    std::vector<int64_t> sources;
    for (int64_t j = -before; j < extent + after; ++j)
      sources.push_back(padded_source(mode, j, extent));
    y = g.take(y, axes[i], sources);
  }
  out_reshaped(c, y, g.dims(y));
  return c.done();
}

// Cut or padded with zeros around the middle.
Result<void> center_crop_pad(NodeContext& c) {
  TensorAlgebra& g = c.g();
  ValueId y = c.in(0);
  QUERN_ASSIGN_OR_RETURN(const Dims wanted, c.ints(1));
  QUERN_ASSIGN_OR_RETURN(Dims axes, axes_of(c, 99, g.rank(y)));
  if (axes.empty()) {
    axes.resize(wanted.size());
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  if (axes.size() != wanted.size() || static_cast<int64_t>(axes.size()) > g.rank(y)) {
    return fail::invalid("CenterCropPad has {} axes.", axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (g.has_error() || !g.allows(wanted[i])) return c.done();
    const int64_t extent = g.dims(y)[static_cast<size_t>(axes[i])];
    const int64_t cut = std::max<int64_t>(extent - wanted[i], 0),
                  added = std::max<int64_t>(wanted[i] - extent, 0);
    y = g.slice(y, axes[i], cut / 2, extent - (cut - cut / 2));
    y = g.pad(y, axes[i], added / 2, added - added / 2, 0);
  }
  out_reshaped(c, y, g.dims(y));
  return c.done();
}

// [N, C, H, W] in blocks of b x b: the six axes of a reshape, permuted.
Result<void> move_blocks(NodeContext& c, const Dims& split, const Dims& order, const Dims& joined) {
  TensorAlgebra& g = c.g();
  c.out(0, g.reshape(g.permute(g.reshape(c.in(0), split), order), joined));
  return c.done();
}
// DCR or CRD order of the depth.
Result<void> depth_to_space(NodeContext& c) {
  const Dims d = c.g().dims(c.in(0));
  const int64_t b = c.integer("blocksize", 1);
  if (d.size() != 4 || b < 1 || b > 4096 || d[1] % (b * b) != 0)
    return fail::invalid("DepthToSpace cannot divide its channels.");
  //   DCR  [N, b, b, C, H, W] -> [N, C, H, b, W, b]
  //   CRD  [N, C, b, b, H, W] -> [N, C, H, b, W, b]
  const int64_t channels = d[1] / (b * b);
  const Dims joined{d[0], channels, d[2] * b, d[3] * b};
  if (c.text("mode", "DCR") == "CRD") {
    return move_blocks(c, {d[0], channels, b, b, d[2], d[3]}, {0, 1, 4, 2, 5, 3}, joined);
  }
  return move_blocks(c, {d[0], b, b, channels, d[2], d[3]}, {0, 3, 4, 1, 5, 2}, joined);
}
Result<void> space_to_depth(NodeContext& c) {
  const Dims d = c.g().dims(c.in(0));
  const int64_t b = c.integer("blocksize", 1);
  if (d.size() != 4 || b < 1 || b > 4096 || d[2] % b != 0 || d[3] % b != 0)
    return fail::invalid("SpaceToDepth cannot divide its rows.");
  return move_blocks(c, {d[0], d[1], d[2] / b, b, d[3] / b, b}, {0, 3, 5, 1, 2, 4},
                     {d[0], d[1] * b * b, d[2] / b, d[3] / b});
}

// Values that follow from shapes and constants alone ---------------------------------------------

// Known while the graph is built, so that a later Reshape or Expand can use it: shapes here are.
Result<void> shape(NodeContext& c) {
  const Dims dims = c.g().dims(c.in(0));
  const auto rank = static_cast<int64_t>(dims.size());
  const auto bound = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = bound(c.integer("start", 0)), end = bound(c.integer("end", rank));
  // An end before the start selects nothing.
  const Dims extents(dims.begin() + std::min(start, end), dims.begin() + end);
  QUERN_TRY(c.out_integers(0, {static_cast<int64_t>(extents.size())}, extents));
  return c.done();
}

Result<void> size(NodeContext& c) {
  const Dims count{count_of(c.g().dims(c.in(0)))};
  QUERN_TRY(c.out_integers(0, {}, count));
  return c.done();
}

// A tensor attribute, a number or a list.
Result<void> constant(NodeContext& c) {
  for (const OnnxAttribute& a : c.node().attributes) {
    using Type = OnnxAttribute::Type;
    if (a.name == "value" && a.tensor.tensor) {
      c.out_known(0, *a.tensor.tensor);
    } else if (a.type == Type::kFloat) {
      QUERN_TRY(c.out_numbers(0, DType::kF32, {}, std::array<double, 1>{a.number}));
    } else if (a.type == Type::kInt) {
      QUERN_TRY(c.out_integers(0, {}, std::array{a.integer}));
    } else if (a.type == Type::kFloats) {
      const std::vector<double> numbers(a.numbers.begin(), a.numbers.end());
      QUERN_TRY(c.out_numbers(0, DType::kF32, {static_cast<int64_t>(numbers.size())}, numbers));
    } else if (a.type == Type::kInts) {
      QUERN_TRY(c.out_integers(0, {static_cast<int64_t>(a.integers.size())}, a.integers));
    } else {
      return fail::unimplemented("A constant of the attribute '{}' is not read.", a.name);
    }
  }
  return c.done();
}

// Elements of a filled tensor that may be an argument of a later node, as a list of axes is. Larger
// ones stay one number that is broadcast, which costs no memory here.
constexpr int64_t kMaxFilled = 4096;

// A constant of the shape that the input holds.
Result<void> constant_of_shape(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const Dims dims, c.ints(0));
  const OnnxAttribute* value = c.node().find("value");
  DType dtype = DType::kF32;
  double fill = 0;
  if (value != nullptr && value->tensor.tensor) {
    dtype = value->tensor.tensor->dtype();
    QUERN_ASSIGN_OR_RETURN(const std::vector<double> values, numbers_of(*value->tensor.tensor));
    fill = values.empty() ? 0 : values[0];
  }
  if (const int64_t count = count_of(dims); count >= 0 && count <= kMaxFilled) {
    const std::vector<double> values(static_cast<size_t>(count), fill);
    QUERN_TRY(c.out_numbers(0, dtype, dims, values));
    return c.done();
  }
  c.out(0, c.g().op("shape.reshape", {c.g().broadcast(c.g().constant(dtype, {}, {fill}), dims)},
                    {{"shape", dims}}));
  return c.done();
}

// The number of elements must be known: limits are constants.
Result<void> range(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const double start, c.known_number(0));
  QUERN_ASSIGN_OR_RETURN(const double limit, c.known_number(1));
  QUERN_ASSIGN_OR_RETURN(const double delta, c.known_number(2));
  // Limits that the steps lead away from give no elements, -infinity of them too.
  const double steps = std::ceil((limit - start) / delta);
  const double count = steps < 0 ? 0 : steps;
  if (!(count < static_cast<double>(kMaxTable))) {
    return fail::invalid("A range of {} elements is too long.", count);
  }
  std::vector<double> values;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i)
    values.push_back(start + static_cast<double>(i) * delta);
  QUERN_TRY(c.out_numbers(0, c.g().dtype(c.in(0)), {static_cast<int64_t>(values.size())}, values));
  return c.done();
}

// Ones on a diagonal.
Result<void> eye_like(NodeContext& c) {
  const Dims dims = c.g().dims(c.in(0));
  if (dims.size() != 2) return fail::invalid("EyeLike needs a matrix.");
  const auto to = c.has_attribute("dtype") ? dtype_of(static_cast<int32_t>(c.integer("dtype", 1)))
                                           : std::optional(c.g().dtype(c.in(0)));
  if (!to) return fail::unimplemented("EyeLike gives a type that Quern has not.");
  if (!c.g().allows(count_of(dims))) return c.done();
  std::vector<double> values;
  for (int64_t row = 0; row < dims[0]; ++row) {
    for (int64_t column = 0; column < dims[1]; ++column)
      values.push_back(column - row == c.integer("k", 0) ? 1 : 0);
  }
  c.out(0, c.g().constant(*to, dims, std::move(values)));
  return c.done();
}

constexpr std::array kMappers = {
    OpMapper{"CenterCropPad", center_crop_pad},
    OpMapper{"Concat", concat},
    OpMapper{"Constant", constant},
    OpMapper{"ConstantOfShape", constant_of_shape},
    OpMapper{"DepthToSpace", depth_to_space},
    OpMapper{"Expand", expand},
    OpMapper{"EyeLike", eye_like},
    OpMapper{"Flatten", flatten},
    OpMapper{"Pad", pad},
    OpMapper{"Range", range},
    OpMapper{"Reshape", reshape},
    OpMapper{"Shape", shape},
    OpMapper{"Size", size},
    OpMapper{"Slice", slice},
    OpMapper{"SpaceToDepth", space_to_depth},
    OpMapper{"Split", split},
    OpMapper{"Squeeze", squeeze},
    OpMapper{"Tile", tile},
    OpMapper{"Transpose", transpose},
    OpMapper{"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const OpMapper> shape_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
