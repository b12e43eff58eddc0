// ONNX operators that pick or place elements by index.
// Indices that are known while the graph is built are checked; others are clamped or wrapped at run
// time.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/fail.h"
#include "formats/onnx/node_context.h"

namespace quern::onnx {
namespace {

// Indices below 0 count from the end.
ValueId from_front(TensorAlgebra& g, ValueId indices, int64_t extent) {
  return g.where(g.with_scalar("compare.less", indices, 0),
                 g.with_scalar("math.add", indices, static_cast<double>(extent)), indices);
}

//   dims [2, 3, 4] have the strides [12, 4, 1]
// Elements between neighbours along each axis, row-major.
Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
  return strides;
}

// Whole slices along one axis; negative indices count from the end.
Result<void> gather(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0)), index_dims = g.dims(c.in(1));
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", 0, static_cast<int64_t>(dims.size())));
  const ValueId indices = from_front(g, c.in(1), dims[static_cast<size_t>(axis)]);
  const ValueId rows = g.take_rows(c.in(0), axis, g.reshape(indices, {count_of(index_dims)}));
  // The indexed axis is replaced by all dims of the index tensor.
  Dims result(dims.begin(), dims.begin() + axis);
  result.insert(result.end(), index_dims.begin(), index_dims.end());
  result.insert(result.end(), dims.begin() + axis + 1, dims.end());
  c.out(0, g.op("shape.reshape", {rows}, {{"shape", result}}));
  return c.done();
}

// The row-major place of each element that an index tensor of GatherElements names.
ValueId element_places(TensorAlgebra& g, const Dims& dims, int64_t axis, ValueId indices) {
  const Dims index_dims = g.dims(indices), strides = strides_of(dims);
  if (!g.allows(count_of(index_dims)) || index_dims.size() != dims.size()) {
    g.refuse("Indices need the rank of the data.");
    return kNoValue;
  }
  std::vector<double> base(static_cast<size_t>(count_of(index_dims)), 0);
  const Dims index_strides = strides_of(index_dims);
  for (size_t i = 0; i < base.size(); ++i) {
    for (size_t a = 0; a < index_dims.size(); ++a) {
      // Along all other axes an element stays at its own place; these parts are known now.
      if (static_cast<int64_t>(a) == axis) continue;
      const int64_t at = static_cast<int64_t>(i) / index_strides[a] % index_dims[a];
      base[i] += static_cast<double>(at * strides[a]);
    }
  }
  const ValueId along =
      g.scale(g.cast(from_front(g, indices, dims[static_cast<size_t>(axis)]), DType::kI64),
              static_cast<double>(strides[static_cast<size_t>(axis)]));
  return g.op("math.add", {along, g.constant(DType::kI64, index_dims, base)});
}

// An element for each index, along one axis.
Result<void> gather_elements(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0)), index_dims = g.dims(c.in(1));
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", 0, static_cast<int64_t>(dims.size())));
  const ValueId places = g.reshape(element_places(g, dims, axis, c.in(1)), {count_of(index_dims)});
  const ValueId flat = g.reshape(c.in(0), {count_of(dims)});
  c.out(0, g.reshape(g.op("shape.gather_rows", {flat, places}), index_dims));
  return c.done();
}

// Slices by tuples of indices, with leading dims in common.
Result<void> gather_nd(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0)), index_dims = g.dims(c.in(1));
  const int64_t batch = c.integer("batch_dims", 0);
  if (index_dims.empty() || batch < 0 || batch >= static_cast<int64_t>(index_dims.size())) {
    return fail::invalid("GatherND has the batch {}.", batch);
  }
  const int64_t depth = index_dims.back();
  if (batch + depth > static_cast<int64_t>(dims.size()))
    return fail::invalid("GatherND indexes {} axes.", depth);
  //   data    [batch dims | indexed dims | slab dims]
  //   indices [batch dims | ... | depth]            result [batch dims | ... | slab dims]
  // Flattened, slab s of batch b is row b * (product of indexed dims) + s.
  const Dims batch_dims(dims.begin(), dims.begin() + batch);
  const Dims indexed(dims.begin() + batch, dims.begin() + batch + depth);
  const Dims slab(dims.begin() + batch + depth, dims.end());
  const int64_t num_batches = count_of(batch_dims), slabs_per_batch = count_of(indexed);
  if (!g.allows(count_of(index_dims))) return c.done();
  const int64_t num_indices = count_of({index_dims.begin(), index_dims.end() - 1});
  if (!g.allows(num_indices)) return c.done();
  // Each index tuple to the number of its slab: a product with the strides.
  const Dims strides = strides_of(indexed);
  ValueId places = g.constant(DType::kI64, {num_indices},
                              std::vector<double>(static_cast<size_t>(num_indices), 0));
  const ValueId tuples = g.reshape(c.in(1), {num_indices, depth});
  for (int64_t k = 0; k < depth; ++k) {
    const ValueId part = g.reshape(g.slice(tuples, 1, k, k + 1), {num_indices});
    const auto i = static_cast<size_t>(k);
    places =
        g.op("math.add",
             {places, g.scale(from_front(g, part, indexed[i]), static_cast<double>(strides[i]))});
  }
  std::vector<double> first(static_cast<size_t>(num_indices));
  const int64_t per_batch = num_indices / std::max<int64_t>(num_batches, 1);
  for (size_t i = 0; i < first.size(); ++i) {
    first[i] = static_cast<double>(static_cast<int64_t>(i) / std::max<int64_t>(per_batch, 1) *
                                   slabs_per_batch);
  }
  places = g.op("math.add", {places, g.constant(DType::kI64, {num_indices}, first)});
  const ValueId flat = g.reshape(c.in(0), {num_batches * slabs_per_batch, count_of(slab)});
  Dims result(index_dims.begin(), index_dims.end() - 1);
  result.insert(result.end(), slab.begin(), slab.end());
  c.out(0, g.reshape(g.op("shape.gather_rows", {flat, places}), result));
  return c.done();
}

// Scattering -----------------------------------------------------------------------------------

// How an update joins what is there, and the value that changes nothing.
struct ScatterRule {
  std::string_view op;  // empty: it replaces
  double neutral = 0;
};
// How values at one place meet. Errors: another word.
Result<ScatterRule> scatter_rule(const std::string& reduction) {
  if (reduction == "none" || reduction.empty()) return ScatterRule{"", 0};
  if (reduction == "add") return ScatterRule{"math.add", 0};
  if (reduction == "mul") return ScatterRule{"math.mul", 1};
  const double infinity = std::numeric_limits<double>::infinity();
  if (reduction == "max") return ScatterRule{"elementwise.max", -infinity};
  if (reduction == "min") return ScatterRule{"elementwise.min", infinity};
  return fail::unimplemented("The reduction '{}' of a scatter is not known.", reduction);
}

// data [n, slab] with rows of `updates` [m, slab] placed at `targets`. Updates of one target follow
// each other in rounds: each round gathers what joins each row, or the neutral value.
ValueId scatter_rows(TensorAlgebra& g, ValueId data, ValueId updates,
                     const std::vector<int64_t>& targets, const ScatterRule& rule) {
  const Dims dims = g.dims(data);
  if (dims.empty()) return kNoValue;
  const int64_t num_rows = dims[0];
  if (!g.allows(num_rows)) return kNoValue;
  std::vector<std::vector<int64_t>> rounds;
  std::map<int64_t, size_t> uses;
  for (size_t i = 0; i < targets.size(); ++i) {
    // Without a reduction later updates overwrite earlier ones in the one round. With one, the n-th
    // update of a target goes to round n, so that no round has two for one row.
    const size_t round = rule.op.empty() ? 0 : uses[targets[i]]++;
    if (round == rounds.size()) rounds.emplace_back(static_cast<size_t>(num_rows), -1);
    rounds[round][static_cast<size_t>(targets[i])] = static_cast<int64_t>(i);
  }
  const auto num_updates = static_cast<int64_t>(targets.size());
  for (std::vector<int64_t>& sources : rounds) {
    if (rule.op.empty()) {  // rows of the data follow the updates
      for (size_t row = 0; row < sources.size(); ++row) {
        if (sources[row] < 0) sources[row] = num_updates + static_cast<int64_t>(row);
      }
      const std::array both = {updates, data};
      data = g.take(g.concat(both, 0), 0, sources);
      continue;
    }
    // The row behind the updates is the neutral value, which pad() adds below.
    for (int64_t& source : sources) source = source < 0 ? num_updates : source;
    data = g.op(rule.op, {data, g.take(g.pad(updates, 0, 0, 1, rule.neutral), 0, sources)});
  }
  return data;
}

// One element for each index, which must be known; later ones win where no reduction is named.
Result<void> scatter_elements(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0)), index_dims = g.dims(c.in(1));
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", 0, static_cast<int64_t>(dims.size())));
  QUERN_ASSIGN_OR_RETURN(const ScatterRule rule, scatter_rule(c.text("reduction", "none")));
  QUERN_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, c.ints(1));
  if (index_dims.size() != dims.size()) {
    return fail::invalid("A scatter has indices of rank {}; the data has {}.", index_dims.size(),
                         dims.size());
  }
  const Dims strides = strides_of(dims), index_strides = strides_of(index_dims);
  std::vector<int64_t> targets;
  for (size_t i = 0; i < indices.size(); ++i) {
    int64_t place = 0;
    for (size_t a = 0; a < dims.size(); ++a) {
      int64_t at = static_cast<int64_t>(i) / index_strides[a] % index_dims[a];
      if (static_cast<int64_t>(a) == axis) at = indices[i] < 0 ? indices[i] + dims[a] : indices[i];
      if (at < 0 || at >= dims[a]) return fail::invalid("A scatter has the index {}.", indices[i]);
      place += at * strides[a];
    }
    targets.push_back(place);
  }
  const ValueId data = g.reshape(c.in(0), {count_of(dims)});
  const ValueId updates = g.reshape(c.in(2), {count_of(index_dims)});
  c.out(0, g.reshape(scatter_rows(g, data, updates, targets, rule), dims));
  return c.done();
}

// Slices by tuples of indices.
Result<void> scatter_nd(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0)), index_dims = g.dims(c.in(1));
  QUERN_ASSIGN_OR_RETURN(const ScatterRule rule, scatter_rule(c.text("reduction", "none")));
  QUERN_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, c.ints(1));
  const auto depth = static_cast<size_t>(index_dims.empty() ? 0 : index_dims.back());
  if (depth == 0 || depth > dims.size()) return fail::invalid("ScatterND indexes {} axes.", depth);
  const Dims indexed(dims.begin(), dims.begin() + static_cast<int64_t>(depth));
  const Dims strides = strides_of(indexed);
  std::vector<int64_t> targets;
  for (size_t i = 0; i < indices.size(); i += depth) {
    int64_t place = 0;
    for (size_t k = 0; k < depth; ++k) {
      const int64_t at = indices[i + k] < 0 ? indices[i + k] + indexed[k] : indices[i + k];
      if (at < 0 || at >= indexed[k]) return fail::invalid("A scatter has the index {}.", at);
      place += at * strides[k];
    }
    targets.push_back(place);
  }
  const int64_t rows = count_of(indexed), slab = count_of(dims) / std::max<int64_t>(rows, 1);
  const ValueId updates = g.reshape(c.in(2), {static_cast<int64_t>(targets.size()), slab});
  c.out(0,
        g.reshape(scatter_rows(g, g.reshape(c.in(0), {rows, slab}), updates, targets, rule), dims));
  return c.done();
}

// The rest ---------------------------------------------------------------------------------------

// The depth must be known. On and off are the two values of the third input.
Result<void> one_hot(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const int64_t depth, c.known_int(1));
  // The table has indices * depth elements: a depth of a million is far past any vocabulary.
  if (depth < 0 || depth > 1 << 20) return fail::invalid("OneHot has the depth {}.", depth);
  // Indices may be floats; they count modulo the depth.
  const ValueId wrapped = from_front(g, g.cast(c.in(0), DType::kI64), depth);
  const int64_t rank = g.rank(c.in(0)) + 1;
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", -1, rank));
  const ValueId mask = g.move_axis(g.one_hot(wrapped, depth), rank - 1, axis);
  const ValueId off = g.reshape(g.slice(c.in(2), 0, 0, 1), {}),
                on = g.reshape(g.slice(c.in(2), 0, 1, 2), {});
  c.out(0, g.where(mask, on, off));
  return c.done();
}

// 1 at the first maximum.
Result<void> hardmax(NodeContext& c) {
  TensorAlgebra& g = c.g();
  ValueId x = c.in(0);
  const Dims dims = g.dims(x);
  const auto rank = static_cast<int64_t>(dims.size());
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", c.opset() < 13 ? 1 : -1, rank));
  if (c.opset() < 13)
    x = g.reshape(x, {count_of({dims.begin(), dims.begin() + axis}),
                      count_of({dims.begin() + axis, dims.end()})});
  const int64_t at = c.opset() < 13 ? 1 : axis, last = g.rank(x) - 1;
  const ValueId rows = g.move_axis(x, at, last);
  const int64_t depth = g.dims(rows).empty() ? 0 : g.dims(rows).back();
  const ValueId hot = g.cast(g.one_hot(g.op("reduction.argmax", {rows}), depth), g.dtype(x));
  c.out(0, g.reshape(g.move_axis(hot, last, at), dims));
  return c.done();
}

// Values and indices; the lower index first among equals.
Result<void> top_k(NodeContext& c) {
  TensorAlgebra& g = c.g();
  // Integers are sorted in f64, which holds them exactly up to 2^53.
  const DType dtype = g.dtype(c.in(0));
  const ValueId x = is_float(dtype) ? c.in(0) : g.cast(c.in(0), DType::kF64);
  const int64_t rank = g.rank(x);
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", -1, rank));
  QUERN_ASSIGN_OR_RETURN(const int64_t k, c.known_int(1));
  const bool takes_largest = c.integer("largest", 1) != 0;
  ValueId rows = g.move_axis(x, axis, rank - 1);
  // The k smallest are the k largest of the negation, and equal elements stay equal.
  if (!takes_largest) rows = g.op("elementwise.neg", {rows});
  g.op("sort.top_k", {rows}, {{"k", k}});
  if (g.has_error()) return c.done();
  const auto outputs = g.builder().last_outputs();
  ValueId values = outputs[0];
  const ValueId indices = outputs[1];
  if (!takes_largest) values = g.op("elementwise.neg", {values});
  c.out(0, g.move_axis(g.cast(values, dtype), rank - 1, axis));
  c.out(1, g.move_axis(g.cast(indices, DType::kI64), rank - 1, axis));
  return c.done();
}

// Elements above or below a diagonal become 0.
Result<void> trilu(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0));
  if (dims.size() < 2) return fail::invalid("Trilu needs a matrix.");
  int64_t k = 0;
  if (c.has(1)) {
    QUERN_ASSIGN_OR_RETURN(k, c.known_int(1));
  }
  const int64_t rows = dims[dims.size() - 2], columns = dims.back();
  if (!g.allows(count_of({rows, columns}))) return c.done();
  const bool is_upper = c.integer("upper", 1) != 0;
  std::vector<double> mask;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      mask.push_back((is_upper ? column - row >= k : column - row <= k) ? 1 : 0);
    }
  }
  c.out(0, g.where(g.constant(DType::kU8, {rows, columns}, mask), c.in(0), g.scalar(c.in(0), 0)));
  return c.done();
}

// The condition must be known while the graph is built: it decides the shape.
Result<void> compress(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const std::vector<int64_t> condition, c.ints(1));
  std::vector<int64_t> kept;
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) kept.push_back(static_cast<int64_t>(i));
  }
  const Dims dims = g.dims(c.in(0));
  if (!c.has_attribute("axis")) {
    c.out(0, g.take(g.reshape(c.in(0), {count_of(dims)}), 0, kept));
    return c.done();
  }
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", 0, static_cast<int64_t>(dims.size())));
  c.out(0, g.take(c.in(0), axis, kept));
  return c.done();
}

// The first lens[b] elements of each sequence b in reverse.
Result<void> reverse_sequence(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0));
  QUERN_ASSIGN_OR_RETURN(const std::vector<int64_t> lens, c.ints(1));
  const int64_t batch_axis = c.integer("batch_axis", 1), time_axis = c.integer("time_axis", 0);
  const bool are_first_two =
      (batch_axis == 0 && time_axis == 1) || (batch_axis == 1 && time_axis == 0);
  if (dims.size() < 2 || !are_first_two ||
      lens.size() != static_cast<size_t>(dims[static_cast<size_t>(batch_axis)])) {
    return fail::invalid("ReverseSequence has axes {} and {}.", batch_axis, time_axis);
  }
  const int64_t steps = dims[static_cast<size_t>(time_axis)];
  const bool fits = std::ranges::all_of(lens, [&](int64_t n) { return n >= 0 && n <= steps; });
  if (!fits) return fail::invalid("ReverseSequence has a length outside 0 to {}.", steps);
  const int64_t cells = count_of({dims[0], dims[1]});
  if (cells == 0) return fail::unimplemented("ReverseSequence of no elements is not translated.");
  if (!g.allows(cells)) return c.done();
  std::vector<int64_t> sources;
  for (int64_t row = 0; row < dims[0]; ++row) {
    for (int64_t column = 0; column < dims[1]; ++column) {
      const int64_t time = time_axis == 0 ? row : column, batch = time_axis == 0 ? column : row;
      const int64_t length = lens[static_cast<size_t>(batch)];
      const int64_t from = time < length ? length - 1 - time : time;
      sources.push_back(time_axis == 0 ? from * dims[1] + batch : batch * dims[1] + from);
    }
  }
  const ValueId flat = g.reshape(c.in(0), {cells, count_of(dims) / cells});
  c.out(0, g.reshape(g.take(flat, 0, sources), dims));
  return c.done();
}

constexpr std::array kMappers = {
    OpMapper{"Compress", compress},
    OpMapper{"Gather", gather},
    OpMapper{"GatherElements", gather_elements},
    OpMapper{"GatherND", gather_nd},
    OpMapper{"Hardmax", hardmax},
    OpMapper{"OneHot", one_hot},
    OpMapper{"ReverseSequence", reverse_sequence},
    OpMapper{"Scatter", scatter_elements},
    OpMapper{"ScatterElements", scatter_elements},
    OpMapper{"ScatterND", scatter_nd},
    OpMapper{"TopK", top_k},
    OpMapper{"Trilu", trilu},
};

}  // namespace

std::span<const OpMapper> index_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
