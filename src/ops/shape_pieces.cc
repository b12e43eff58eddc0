// Operations that take tensors apart along an axis or join them: concat, split, slice, rows.
#include <cstring>
#include <vector>

#include "base/fail.h"
#include "ir/tensor_type.h"
#include "ops/dim_math.h"
#include "ops/index_access.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;
using Types = std::vector<TensorType>;

// A tensor seen along one axis: `outer` repetitions of `extent` slabs of `slab_bytes` each.
// x [2, 3, 4] along axis 1 has outer = 2, extent = 3 and slabs of 4 elements:
//   | slab slab slab | slab slab slab |
struct AxisView {
  int64_t outer = 1;
  int64_t extent = 0;
  int64_t slab_bytes = 0;

  AxisView(const TensorView& view, int axis) : extent(view.shape[axis]) {
    // Whole bytes only, so that a block of the dtype is an element.
    slab_bytes = dtype_info(view.dtype).block_bytes;
    for (int i = 0; i < axis; ++i) outer *= view.shape[i];
    for (int i = axis + 1; i < view.shape.rank(); ++i) slab_bytes *= view.shape[i];
  }
};

// memcpy that allows null pointers for nothing.
void copy_bytes(std::byte* target, const std::byte* source, int64_t size_bytes) {
  if (size_bytes > 0) std::memcpy(target, source, static_cast<size_t>(size_bytes));
}

// concat ------------------------------------------------------------------------------------

// Extents other than the joined one must be equal; symbols add where one multiple of a symbol
// joins another.
Result<Types> infer_concat(const InferContext& context) {
  TensorType y = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("a", y));
  QUERN_ASSIGN_OR_RETURN(const int axis, axis_attribute(context, "dim", y.rank()));
  Dim& joined = y.dims[static_cast<size_t>(axis)];
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    const TensorType& next = *context.inputs[i];
    // y with the extent of `next` along the axis: if that is not the type of `next`, something else
    // differs.
    TensorType expected = next;
    if (next.rank() == y.rank()) {
      expected = y;
      expected.dims[static_cast<size_t>(axis)] = next.dims[static_cast<size_t>(axis)];
    }
    // Nothing where symbols differ or the sum overflows.
    const auto sum = expected == next && next.rank() == y.rank()
                         ? add_dims(joined, next.dims[static_cast<size_t>(axis)])
                         : std::nullopt;
    if (!sum) {
      return fail::invalid("Port '{}' has type {}; it does not join '{}', {}, along axis {}.",
                           port_name(context, i), next.to_string(), port_name(context, 0),
                           context.inputs[0]->to_string(), axis);
    }
    joined = *sum;
  }
  return Types{y};
}

// Writes one input after the other; each is `outer` runs of bytes in the result.
Result<void> run_concat(const KernelContext& context) {
  const TensorView& y = context.outputs[0];
  QUERN_ASSIGN_OR_RETURN(const int axis, axis_attribute(context, "dim", y.shape.rank()));
  const AxisView target(y, axis);
  // Parts a and b along the axis, for each repetition of the outer axes:
  //   y: | a0 b0 | a1 b1 | a2 b2 |     `column` is where a part begins in repetition 0
  std::byte* column = y.data;
  for (const TensorView& input : context.inputs) {
    const AxisView source(input, axis);
    const int64_t size_bytes = source.extent * source.slab_bytes;
    for (int64_t o = 0; o < source.outer; ++o) {
      copy_bytes(column + o * target.extent * target.slab_bytes, input.data + o * size_bytes,
                 size_bytes);
    }
    column += size_bytes;
  }
  return {};
}

// split -------------------------------------------------------------------------------------

// The new first axis counts the chunks; a symbolic extent must be a known multiple of the chunk.
Result<Types> infer_split(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", x));
  QUERN_TRY(check_rank_limit("chunks", x.rank() + 1));
  QUERN_ASSIGN_OR_RETURN(const int axis, axis_attribute(context, "dim", x.rank()));
  const int64_t size = context.attributes.integer("split_size");
  // Nothing for sizes of 0 and less, and for symbols that may leave a rest.
  const auto count = divide_dim(x.dims[static_cast<size_t>(axis)], size);
  if (!count) {
    return fail::invalid("Port 'x' has type {}; axis {} does not split into chunks of {}.",
                         x.to_string(), axis, size);
  }
  // [.., n * size, ..] becomes [n, .., size, ..].
  TensorType chunks = x;
  chunks.dims[static_cast<size_t>(axis)] = Dim::constant(size);
  chunks.dims.insert(chunks.dims.begin(), *count);
  return Types{chunks};
}

// Chunk by chunk, so that the result is written front to back.
Result<void> run_split(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  QUERN_ASSIGN_OR_RETURN(const int axis, axis_attribute(context, "dim", x.shape.rank()));
  const AxisView source(x, axis);
  const int64_t chunk_bytes = context.attributes.integer("split_size") * source.slab_bytes;
  std::byte* target = context.outputs[0].data;
  for (int64_t chunk = 0; chunk < context.outputs[0].shape[0]; ++chunk) {
    for (int64_t o = 0; o < source.outer; ++o, target += chunk_bytes) {
      copy_bytes(target, x.data + o * source.extent * source.slab_bytes + chunk * chunk_bytes,
                 chunk_bytes);
    }
  }
  return {};
}

// slice -------------------------------------------------------------------------------------

// The error of bounds outside [0, extent].
Result<void> check_bounds(int64_t start, int64_t end, int64_t extent) {
  if (0 <= start && start <= end && end <= extent) return {};
  return fail::out_of_range("The slice [{}, {}) is out of range for an axis of extent {}.", start,
                            end, extent);
}

// Constant extents are checked here. A symbolic one gets the constant extent of the slice, which
// only the kernel can check.
Result<Types> infer_slice(const InferContext& context) {
  TensorType y = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", y));
  QUERN_ASSIGN_OR_RETURN(const int axis, axis_attribute(context, "dim", y.rank()));
  const int64_t start = context.attributes.integer("start");
  const int64_t end = context.attributes.integer("end");
  Dim& dim = y.dims[static_cast<size_t>(axis)];
  // The defaults of both: the whole axis, which may stay a symbol.
  if (start == 0 && end == 0) return Types{y};
  if (dim.is_constant()) {
    const int64_t last = end == 0 ? dim.factor : end;
    QUERN_TRY(check_bounds(start, last, dim.factor));
    dim = Dim::constant(last - start);
    return Types{y};
  }
  // end = 0 would be the extent, which is not known here.
  if (end <= start || start < 0) {
    return fail::invalid(
        "Port 'x' has type {}; a slice of a symbolic axis needs 0 <= start < end, "
        "not [{}, {}).",
        context.inputs[0]->to_string(), start, end);
  }
  dim = Dim::constant(end - start);  // the kernel checks the run-time extent
  return Types{y};
}

// Copies the run [start, end) of each repetition.
Result<void> run_slice(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  QUERN_ASSIGN_OR_RETURN(const int axis, axis_attribute(context, "dim", x.shape.rank()));
  const AxisView source(x, axis);
  const int64_t start = context.attributes.integer("start");
  const int64_t end = context.attributes.integer("end");
  const int64_t last = end == 0 ? source.extent : end;
  // Checked again, as a symbolic extent has a value only now.
  QUERN_TRY(check_bounds(start, last, source.extent));
  const int64_t size_bytes = (last - start) * source.slab_bytes;
  for (int64_t o = 0; o < source.outer; ++o) {
    copy_bytes(context.outputs[0].data + o * size_bytes,
               x.data + (o * source.extent + start) * source.slab_bytes, size_bytes);
  }
  return {};
}

// gather_rows -------------------------------------------------------------------------------

// Rows along the first axis; their number becomes that of the indices.
Result<Types> infer_gather_rows(const InferContext& context) {
  TensorType y = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", y));
  QUERN_TRY(expect_rank_at_least("x", y, 1));
  QUERN_TRY(expect_dtype("rows", *context.inputs[1], {DType::kI32, DType::kI64}));
  QUERN_TRY(expect_rank("rows", *context.inputs[1], 1));
  y.dims[0] = context.inputs[1]->dims[0];
  return Types{y};
}

// Copies one row per index; a bad index is an error, never clamped.
Result<void> run_gather_rows(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  const AxisView source(x, 0);
  const std::vector<int64_t> rows = load_indices(context.inputs[1]);
  // An index is judged before it is used, and named with its place.
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0 || rows[i] >= source.extent) {
      return fail::out_of_range("Element {} of 'rows' is {}; 'x' has {} rows.", i, rows[i],
                                source.extent);
    }
    copy_bytes(context.outputs[0].data + static_cast<int64_t>(i) * source.slab_bytes,
               x.data + rows[i] * source.slab_bytes, source.slab_bytes);
  }
  return {};
}

}  // namespace

void register_shape_pieces(OpRegistry& registry) {
  using namespace op_parts;
  registry.add({.id = "shape.concat",
                .doc = "Joins tensors of one dtype along an axis; the other extents are equal.",
                .shape_rule = "Any number of tensors of one dtype (of whole bytes) and rank; "
                              "y has the sum of their extents along the axis.",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                             "none.",
                .f32_bound = 0,
                .inputs = {variadic_port("a")},
                .outputs = {port("y")},
                .attributes = {integer("dim", 0, "The axis.")},
                .infer = infer_concat,
                .reference = run_concat});
  registry.add({.id = "shape.split",
                .doc = "Chunks of split_size along an axis, one after the other: the output "
                       "[n, ...] has one more axis. split_size divides the extent.",
                .shape_rule = "x of any type of whole bytes; chunks [n, ...] with n = extent "
                              "/ split_size.",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                             "none. A size that does not divide is refused.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("chunks")},
                .attributes = {integer("split_size", kRequired, "Extent of a chunk."),
                               integer("dim", 0, "The axis.")},
                .infer = infer_split,
                .reference = run_split});
  registry.add({.id = "shape.slice",
                .doc = "Elements [start, end) of an axis; end = 0 is its full extent. Bounds out "
                       "of range are errors.",
                .shape_rule = "x of any type of whole bytes; y has end - start elements "
                              "along the axis.",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                             "none.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .attributes = {integer("dim", 0, "The axis."), integer("start", 0, "The first."),
                               integer("end", 0, "One past the last.")},
                .infer = infer_slice,
                .reference = run_slice});
  registry.add({.id = "shape.gather_rows",
                .doc = "Row i of y is row rows[i] of x, along the first axis. A row out of range "
                       "is an error.",
                .shape_rule = "x of any type of whole bytes, rank 1 or more; rows i32 or i64 [R]; "
                              "y [R, ...].",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                             "none.",
                .f32_bound = 0,
                .inputs = {port("x"), port("rows")},
                .outputs = {port("y")},
                .infer = infer_gather_rows,
                .reference = run_gather_rows});
}

}  // namespace quern
