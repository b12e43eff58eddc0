// Tensor expressions on a graph builder: NumPy's usual operations spelled in Quern's.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/graph_builder.h"

namespace quern::onnx {

using Dims = std::vector<int64_t>;

// Shapes are constant. The first error stays in the builder; after it every call returns kNoValue
// and every shape is empty, so that expressions need no checks. One thread only.
class TensorAlgebra {
 public:
  // Borrows the builder, whose error it shares.
  explicit TensorAlgebra(GraphBuilder& builder) : builder_(builder) {}

  // For operations that have no call here.
  GraphBuilder& builder() { return builder_; }
  bool has_error() const { return builder_.has_error(); }
  Dims dims(ValueId x) const;
  int64_t rank(ValueId x) const { return static_cast<int64_t>(dims(x).size()); }
  DType dtype(ValueId x) const;

  // A node of any operation.
  // The first output; builder().last_outputs() has the others.
  ValueId op(std::string_view id, std::initializer_list<ValueId> inputs,
             Attributes attributes = {});
  // One operation; see OpDef for its attributes.
  ValueId op(std::string_view id, std::span<const ValueId> inputs, Attributes attributes = {});
  // The same on operands that are broadcast to their common shape first.
  ValueId binary(std::string_view id, ValueId a, ValueId b);
  // `values` in row-major order round to the dtype.
  ValueId constant(DType dtype, const Dims& dims, std::vector<double> values);
  // A constant of rank 0 with the dtype of `like`.
  ValueId scalar(ValueId like, double value);
  // x op value, the value broadcast.
  ValueId with_scalar(std::string_view id, ValueId x, double value);
  // Element by element.
  ValueId scale(ValueId x, double factor);
  ValueId cast(ValueId x, DType dtype);

  // Shapes; extents are known numbers throughout.
  // Calls that change nothing (equal shape, order, type or range) add no node and give x itself.
  ValueId reshape(ValueId x, const Dims& dims);
  ValueId permute(ValueId x, const Dims& order);
  ValueId broadcast(ValueId x, const Dims& dims);
  // The axis moved to the end, and back: move_axis(x, from, to).
  ValueId move_axis(ValueId x, int64_t from, int64_t to);
  // Along one axis; negative axes were made positive by the caller.
  ValueId concat(std::span<const ValueId> parts, int64_t axis);
  ValueId slice(ValueId x, int64_t axis, int64_t start, int64_t end);
  // Elements `indices` of an axis, in that order; each from 0 to the extent - 1.
  ValueId take(ValueId x, int64_t axis, const std::vector<int64_t>& indices);
  // The same with indices known only at run time: a vector of i32 or i64.
  ValueId take_rows(ValueId x, int64_t axis, ValueId indices);
  // `before` and `after` elements of `value` added to an axis.
  ValueId pad(ValueId x, int64_t axis, int64_t before, int64_t after, double value);

  // NumPy's matmul for ranks of 1 and more.
  ValueId matmul(ValueId a, ValueId b);
  // reduction.NAME over the axes; without axes x itself.
  ValueId reduce(std::string_view name, ValueId x, const Dims& axes, bool keep_dims);
  // An operation that works along the last axis, applied along `axis`.
  ValueId along(std::string_view id, ValueId x, int64_t axis);
  // 1 where the mask is 0, else 0.
  ValueId logical_not(ValueId mask);
  // x where the mask is set, else y; all broadcast.
  ValueId where(ValueId mask, ValueId x, ValueId y);
  // u8 [..., depth]: 1 at the index.
  ValueId one_hot(ValueId indices, int64_t depth);

  // Notes an error of the caller's.
  void refuse(std::string message);
  // Whether a table of so many elements may be made while a model is read; notes an error if not.
  bool allows(int64_t count);

 private:
  ValueId matmul_pairs(ValueId a, ValueId b, const Dims& batch);

  GraphBuilder& builder_;
};

// Elements of a table that a node may need: index lists, masks, matrices of weights.
inline constexpr int64_t kMaxTable = int64_t{1} << 24;

// Product of extents; INT64_MAX where that overflows.
int64_t count_of(const Dims& dims);
// NumPy's common shape; nothing where there is none.
std::optional<Dims> common_shape(const Dims& a, const Dims& b);

}  // namespace quern::onnx
