// Each expression in a few nodes.
// Broadcasts are explicit nodes: operations of the graph take equal shapes.
#include "formats/onnx/tensor_algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/fail.h"
#include "ops/broadcasting.h"
#include "quern/op.h"

namespace quern::onnx {
namespace {

// Batches that a product is unrolled into, and other loops over extents of a graph.
// Each is a few nodes: a graph must not grow without limit from three numbers in a file.
constexpr int64_t kMaxUnrolled = 4096;

// Dims with one extent replaced.
Dims with_extent(Dims dims, int64_t axis, int64_t extent) {
  dims[static_cast<size_t>(axis)] = extent;
  return dims;
}

}  // namespace

// Product of all extents; they are limited when values are made.
int64_t count_of(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t extent : dims) {
    // Before the product: a 0 behind extents that overflow still means no elements.
    if (extent == 0) return 0;
    if (__builtin_mul_overflow(count, extent, &count)) count = INT64_MAX;
  }
  return count;
}

// NumPy's rule. Nothing where two extents differ and neither is 1.
std::optional<Dims> common_shape(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (size_t i = 1; i <= dims.size(); ++i) {
    // From the last axis forwards: NumPy aligns shapes at their ends, and what is missing counts as
    // 1.
    const int64_t from_a = i <= a.size() ? a[a.size() - i] : 1;
    const int64_t from_b = i <= b.size() ? b[b.size() - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) return std::nullopt;
    dims[dims.size() - i] = from_a == 1 ? from_b : from_a;
  }
  return dims;
}

// The first error stays; later calls give kNoValue.
void TensorAlgebra::refuse(std::string message) {
  builder_.set_error(Error{ErrorCode::kUnimplemented, std::move(message)});
}

// Constants that a model asks for must not fill the memory.
bool TensorAlgebra::allows(int64_t count) {
  if (count >= 0 && count <= kMaxTable) return true;
  refuse(fmt::format("A table of {} elements is over the limit of {}.", count, kMaxTable));
  return false;
}

// Of a value that exists; empty after an error.
Dims TensorAlgebra::dims(ValueId x) const {
  Dims extents;
  const TensorType* type = builder_.has_error() ? nullptr : builder_.type(x);
  if (type == nullptr) return extents;
  for (const Dim& dim : type->dims) extents.push_back(dim.factor);
  return extents;
}

DType TensorAlgebra::dtype(ValueId x) const {
  const TensorType* type = builder_.has_error() ? nullptr : builder_.type(x);
  return type == nullptr ? DType::kF32 : type->dtype;
}

// An operation with one result; its name is made up.
ValueId TensorAlgebra::op(std::string_view id, std::initializer_list<ValueId> inputs,
                          Attributes attributes) {
  return builder_.add(id, inputs, std::move(attributes));
}
ValueId TensorAlgebra::op(std::string_view id, std::span<const ValueId> inputs,
                          Attributes attributes) {
  return builder_.add(id, inputs, std::move(attributes));
}

// Both sides broadcast first.
ValueId TensorAlgebra::binary(std::string_view id, ValueId a, ValueId b) {
  if (has_error()) return kNoValue;
  const auto common = common_shape(dims(a), dims(b));
  if (!common) {
    refuse(fmt::format("Shapes [{}] and [{}] do not broadcast.", fmt::join(dims(a), ", "),
                       fmt::join(dims(b), ", ")));
    return kNoValue;
  }
  return op(id, {broadcast(a, *common), broadcast(b, *common)});
}

// `values` in row-major order. Errors: more than the limit.
ValueId TensorAlgebra::constant(DType dtype, const Dims& extents, std::vector<double> values) {
  const auto shape = Shape::make(extents);
  if (!shape) {
    builder_.set_error(shape.error());
    return kNoValue;
  }
  return builder_.constant({}, dtype, *shape, std::move(values));
}

// A constant of the type of `like`.
ValueId TensorAlgebra::scalar(ValueId like, double value) {
  return constant(dtype(like), {}, {value});
}
ValueId TensorAlgebra::with_scalar(std::string_view id, ValueId x, double value) {
  return binary(id, x, scalar(x, value));
}
ValueId TensorAlgebra::scale(ValueId x, double factor) {
  return factor == 1 ? x : with_scalar("math.mul", x, factor);
}
ValueId TensorAlgebra::cast(ValueId x, DType wanted) {
  return dtype(x) == wanted ? x : op("math.cast", {x}, {{"to", std::string(dtype_name(wanted))}});
}

// The same elements under other dims.
ValueId TensorAlgebra::reshape(ValueId x, const Dims& wanted) {
  return dims(x) == wanted ? x : op("shape.reshape", {x}, {{"shape", wanted}});
}

ValueId TensorAlgebra::permute(ValueId x, const Dims& order) {
  if (std::ranges::is_sorted(order)) return x;
  return op("shape.permute", {x}, {{"order", order}});
}

ValueId TensorAlgebra::broadcast(ValueId x, const Dims& wanted) {
  return dims(x) == wanted ? x : op("shape.broadcast", {x}, {{"shape", wanted}});
}

// One axis to another place; the others keep their order.
ValueId TensorAlgebra::move_axis(ValueId x, int64_t from, int64_t to) {
  Dims order(dims(x).size());
  std::iota(order.begin(), order.end(), int64_t{0});
  if (order.empty()) return x;
  //   from 3 to 1:  0 1 2 3 4  ->  0 1 2 4  ->  0 3 1 2 4
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return permute(x, order);
}

// Along an axis of equal rank.
ValueId TensorAlgebra::concat(std::span<const ValueId> parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : op("shape.concat", parts, {{"dim", axis}});
}

ValueId TensorAlgebra::slice(ValueId x, int64_t axis, int64_t start, int64_t end) {
  if (has_error()) return kNoValue;
  const Dims extents = dims(x);
  if (start == 0 && end == extents[static_cast<size_t>(axis)]) return x;
  // The operation itself takes no empty range.
  if (start >= end) return constant(dtype(x), with_extent(extents, axis, 0), {});
  return op("shape.slice", {x}, {{"dim", axis}, {"start", start}, {"end", end}});
}

// Elements at these places, known while the graph is built.
ValueId TensorAlgebra::take(ValueId x, int64_t axis, const std::vector<int64_t>& indices) {
  if (has_error() || !allows(static_cast<int64_t>(indices.size()))) return kNoValue;
  // 0, 1, 2, ... over the whole axis is x itself.
  bool is_whole = static_cast<int64_t>(indices.size()) == dims(x)[static_cast<size_t>(axis)];
  for (size_t i = 0; i < indices.size(); ++i)
    is_whole = is_whole && indices[i] == static_cast<int64_t>(i);
  if (is_whole) return x;
  const std::vector<double> rows(indices.begin(), indices.end());
  return take_rows(x, axis, constant(DType::kI64, {static_cast<int64_t>(rows.size())}, rows));
}

// The same with indices that are values.
ValueId TensorAlgebra::take_rows(ValueId x, int64_t axis, ValueId indices) {
  return move_axis(op("shape.gather_rows", {move_axis(x, axis, 0), indices}), 0, axis);
}

// With a constant on both sides.
ValueId TensorAlgebra::pad(ValueId x, int64_t axis, int64_t before, int64_t after, double value) {
  if (has_error() || (before == 0 && after == 0)) return x;
  if (!allows(before) || !allows(after)) return kNoValue;
  const Dims extents = dims(x);
  std::vector<ValueId> parts;
  // One constant of rank 0, broadcast: the padding costs no table in the graph.
  const auto fill = [&](int64_t extent) {
    return broadcast(scalar(x, value), with_extent(extents, axis, extent));
  };
  if (before > 0) parts.push_back(fill(before));
  parts.push_back(x);
  if (after > 0) parts.push_back(fill(after));
  return concat(parts, axis);
}

// The last two dims are matrices, all before them pairs.
ValueId TensorAlgebra::matmul_pairs(ValueId a, ValueId b, const Dims& batch) {
  const Dims a_dims = dims(a), b_dims = dims(b);
  const int64_t rows = a_dims[a_dims.size() - 2], inner = a_dims.back(), columns = b_dims.back();
  Dims a_shape = batch, b_shape = batch, y_shape = batch;
  a_shape.insert(a_shape.end(), {rows, inner});
  b_shape.insert(b_shape.end(), {inner, columns});
  y_shape.insert(y_shape.end(), {rows, columns});
  // One product of matrices for each pair of the broadcast batch, joined along a new first axis.
  const int64_t count = count_of(batch);
  if (count > kMaxUnrolled) {
    refuse(fmt::format("A product of {} matrices is over the limit of {}.", count, kMaxUnrolled));
    return kNoValue;
  }
  if (count == 0) return constant(dtype(a), y_shape, {});
  const ValueId left = reshape(broadcast(a, a_shape), {count, rows, inner});
  const ValueId right = reshape(broadcast(b, b_shape), {count, inner, columns});
  std::vector<ValueId> products;
  for (int64_t i = 0; i < count; ++i) {
    products.push_back(op("math.matmul", {reshape(slice(left, 0, i, i + 1), {rows, inner}),
                                          reshape(slice(right, 0, i, i + 1), {inner, columns})}));
  }
  return reshape(concat(products, 0), y_shape);
}

// NumPy's matmul.
ValueId TensorAlgebra::matmul(ValueId a, ValueId b) {
  if (has_error()) return kNoValue;
  Dims a_dims = dims(a), b_dims = dims(b);
  if (a_dims.empty() || b_dims.empty()) {
    refuse("A product needs tensors of rank 1 and more.");
    return kNoValue;
  }
  const bool is_row = a_dims.size() == 1, is_column = b_dims.size() == 1;
  // A vector on the left is a row, on the right a column; the axis of 1 goes again at the end.
  if (is_row) a = reshape(a, a_dims = {1, a_dims[0]});
  if (is_column) b = reshape(b, b_dims = {b_dims[0], 1});
  const auto batch =
      common_shape({a_dims.begin(), a_dims.end() - 2}, {b_dims.begin(), b_dims.end() - 2});
  if (!batch || a_dims.back() != b_dims[b_dims.size() - 2]) {
    refuse("The shapes of a product do not fit.");
    return kNoValue;
  }
  ValueId y = kNoValue;
  if (b_dims.size() == 2) {  // one matrix for all rows
    Dims rows(a_dims.begin(), a_dims.end() - 1);
    y = op("math.matmul", {reshape(a, {count_of(rows), a_dims.back()}), b});
    rows.push_back(b_dims.back());
    y = reshape(y, rows);
  } else {
    y = matmul_pairs(a, b, *batch);
  }
  Dims shape = dims(y);
  if (shape.empty()) return y;
  if (is_column) shape.pop_back();
  // With both, the column's axis is off already and the row's is the last one.
  if (is_row) shape.erase(shape.end() - (is_column ? 1 : 2));
  return reshape(y, shape);
}

// sum, mean, max and the like over several axes.
ValueId TensorAlgebra::reduce(std::string_view name, ValueId x, const Dims& axes, bool keep_dims) {
  if (axes.empty()) return x;
  return op(fmt::format("reduction.{}", name), {x}, {{"axes", axes}, {"keep_dims", keep_dims}});
}

// An operation on the last axis, applied to another one.
ValueId TensorAlgebra::along(std::string_view id, ValueId x, int64_t axis) {
  const int64_t last = rank(x) - 1;
  return move_axis(op(id, {move_axis(x, axis, last)}), last, axis);
}

// Of masks of 0 and 1.
ValueId TensorAlgebra::logical_not(ValueId mask) {
  return with_scalar("compare.equal", mask, 0);
}

ValueId TensorAlgebra::where(ValueId mask, ValueId x, ValueId y) {
  if (has_error()) return kNoValue;
  const auto values = common_shape(dims(x), dims(y));
  const auto common = values ? common_shape(*values, dims(mask)) : std::nullopt;
  if (!common) {
    refuse("The shapes of a choice do not broadcast.");
    return kNoValue;
  }
  return op("compare.where",
            {broadcast(mask, *common), broadcast(x, *common), broadcast(y, *common)});
}

// 1 at the index, 0 elsewhere; all 0 for an index outside.
ValueId TensorAlgebra::one_hot(ValueId indices, int64_t depth) {
  if (has_error() || !allows(depth)) return kNoValue;
  Dims wide = dims(indices);
  wide.push_back(1);
  std::vector<double> classes(static_cast<size_t>(std::max<int64_t>(depth, 0)));
  std::iota(classes.begin(), classes.end(), 0.0);
  return binary("compare.equal", reshape(indices, wide),
                constant(dtype(indices), {depth}, classes));
}

}  // namespace quern::onnx
