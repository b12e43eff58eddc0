// Operations that rearrange the elements of one tensor: reshape, transpose, heads, broadcast.
#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/fail.h"
#include "ir/tensor_type.h"
#include "ops/dim_math.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/strided_copy.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;
using Types = std::vector<TensorType>;

// Bytes of an element; packed dtypes are refused by the rules.
int64_t element_bytes(const TensorView& view) {
  return dtype_info(view.dtype).block_bytes;
}

// Fills the output from the input with these strides, one for each axis of the output.
Result<void> copy_view(const KernelContext& context, std::span<const int64_t> strides) {
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  strided_copy(x.data, strides, y.shape, element_bytes(x), y.data);
  return {};
}

// The kernel of operations that keep the order of the elements.
Result<void> copy_elements(const KernelContext& context) {
  const TensorView& y = context.outputs[0];
  const int64_t size_bytes = y.shape.num_elements() * element_bytes(y);
  // Empty tensors may have null pointers; a node that runs in place has its result already.
  if (size_bytes > 0 && y.data != context.inputs[0].data) {
    std::memcpy(y.data, context.inputs[0].data, static_cast<size_t>(size_bytes));
  }
  return {};
}

// reshape -----------------------------------------------------------------------------------

// The extents in the attribute; -1 becomes what is left of `count`.
Result<std::vector<Dim>> resolve_reshape(const TensorType& x, const Dim& count,
                                         const std::vector<int64_t>& wanted) {
  std::vector<Dim> dims;
  // `known` is the product of all extents but the one to infer.
  int64_t known = 1;
  for (const int64_t extent : wanted) {
    if (extent < -1) return fail::invalid("Attribute 'shape' has the extent {}.", extent);
    dims.push_back(Dim::constant(extent));
    // A product that wrapped could equal the count by chance.
    const auto product = extent == -1 ? known : checked_multiply(known, extent);
    if (!product)
      return fail::invalid("Attribute 'shape' [{}] is too large.", fmt::join(wanted, ", "));
    known = *product;
  }
  // Without a -1 the count must be equal; with one it must divide; two have no answer.
  const auto inferred = std::ranges::find(wanted, -1);
  if (inferred == wanted.end()) {
    if (count == Dim::constant(known)) return dims;
  } else if (std::ranges::count(wanted, -1) == 1) {
    if (const auto rest = divide_dim(count, known)) {
      dims[static_cast<size_t>(inferred - wanted.begin())] = *rest;
      return dims;
    }
  }
  return fail::invalid("Port 'x' has type {} with {} elements; it cannot take the shape [{}].",
                       x.to_string(), dim_to_string(count), fmt::join(wanted, ", "));
}

// The element count must be known up to one symbol, or it could not be compared.
Result<Types> infer_reshape(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", x));
  const auto& wanted = context.attributes.integers("shape");
  QUERN_TRY(check_rank_limit("shape", static_cast<int64_t>(wanted.size())));
  // Nothing where two symbols meet, or where the product overflows.
  const auto count = multiply_dims(x.dims);
  if (!count) {
    return fail::invalid("Port 'x' has type {}; reshape needs at most one symbolic extent.",
                         x.to_string());
  }
  QUERN_ASSIGN_OR_RETURN(std::vector<Dim> dims, resolve_reshape(x, *count, wanted));
  return Types{{x.dtype, std::move(dims)}};
}

// transpose and permute ---------------------------------------------------------------------

// Negative axes count from the end; both may be the same axis.
Result<Types> infer_transpose(const InferContext& context) {
  TensorType y = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", y));
  QUERN_ASSIGN_OR_RETURN(const int a, axis_attribute(context, "dim0", y.rank()));
  QUERN_ASSIGN_OR_RETURN(const int b, axis_attribute(context, "dim1", y.rank()));
  // Symbols swap as constants do.
  std::swap(y.dims[static_cast<size_t>(a)], y.dims[static_cast<size_t>(b)]);
  return Types{y};
}

// A copy with two strides swapped.
Result<void> run_transpose(const KernelContext& context) {
  const Shape& x = context.inputs[0].shape;
  QUERN_ASSIGN_OR_RETURN(const int a, axis_attribute(context, "dim0", x.rank()));
  QUERN_ASSIGN_OR_RETURN(const int b, axis_attribute(context, "dim1", x.rank()));
  // Strides in x, in the order of y's axes: [n, 1] of x [m, n] becomes [1, n].
  auto strides = dense_strides(x);
  std::swap(strides[static_cast<size_t>(a)], strides[static_cast<size_t>(b)]);
  return copy_view(context, strides);
}

// The source axis of each axis of the output.
Result<std::vector<int>> resolve_order(const std::vector<int64_t>& order, int rank) {
  // Each axis once, in any order; negative names count from the end.
  std::vector<int> axes;
  for (const int64_t axis : order) {
    QUERN_ASSIGN_OR_RETURN(const int resolved, resolve_axis("order", axis, rank));
    if (std::ranges::find(axes, resolved) != axes.end()) {
      return fail::invalid("Attribute 'order' [{}] names axis {} twice.", fmt::join(order, ", "),
                           resolved);
    }
    axes.push_back(resolved);
  }
  if (static_cast<int>(axes.size()) == rank) return axes;
  return fail::invalid("Attribute 'order' [{}] has {} axes; the tensor has rank {}.",
                       fmt::join(order, ", "), axes.size(), rank);
}

// The order names every axis once.
Result<Types> infer_permute(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", x));
  QUERN_ASSIGN_OR_RETURN(const auto axes,
                         resolve_order(context.attributes.integers("order"), x.rank()));
  TensorType y{x.dtype, {}};
  for (const int axis : axes) y.dims.push_back(x.dims[static_cast<size_t>(axis)]);
  return Types{y};
}

// A copy with the strides in the new order.
Result<void> run_permute(const KernelContext& context) {
  const Shape& x = context.inputs[0].shape;
  QUERN_ASSIGN_OR_RETURN(const auto axes,
                         resolve_order(context.attributes.integers("order"), x.rank()));
  const auto dense = dense_strides(x);
  // strides[i] is how far one step along axis i of y goes in x.
  std::vector<int64_t> strides;
  for (const int axis : axes) strides.push_back(dense[static_cast<size_t>(axis)]);
  return copy_view(context, strides);
}

// heads -------------------------------------------------------------------------------------

// The width must be a known multiple of the heads.
Result<Types> infer_view_as_heads(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", x));
  QUERN_TRY(expect_rank("x", x, 3));
  const int64_t num_heads = context.attributes.integer("num_heads");
  // Nothing for heads of 0 and less, and where the division leaves a rest.
  const auto head_dim = divide_dim(x.dims[2], num_heads);
  if (!head_dim) {
    return fail::invalid(
        "Port 'x' has type {}; its last extent must be a multiple of num_heads {}.", x.to_string(),
        num_heads);
  }
  return Types{{x.dtype, {x.dims[0], Dim::constant(num_heads), x.dims[1], *head_dim}}};
}

// Head h of token t begins at column h * head_dim of its row.
Result<void> run_view_as_heads(const KernelContext& context) {
  const Shape& x = context.inputs[0].shape;                  // [B, T, H * d]
  const int64_t head_dim = context.outputs[0].shape.last();  // [B, H, T, d]
  // Token t of x holds its heads side by side, y one head after the other:
  //   x row t: | head 0 | head 1 | ..      y: | head 0: t0 t1 .. | head 1: t0 t1 .. | ..
  // so batch, head, token, column of y step by T * H * d, d, H * d and 1 in x.
  return copy_view(context, std::vector<int64_t>{x[1] * x[2], head_dim, x[2], 1});
}

// Heads and head width multiply; one of them may be symbolic.
Result<Types> infer_merge_heads(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", x));
  QUERN_TRY(expect_rank("x", x, 4));
  // The product may hold one symbol: heads or width, not both.
  const auto width = multiply_dims(x.dims[1], x.dims[3]);
  if (!width) {
    return fail::invalid(
        "Port 'x' has type {}; heads times head width has two symbols or is too large.",
        x.to_string());
  }
  return Types{{x.dtype, {x.dims[0], x.dims[2], *width}}};
}

// Reads the heads of one token one after the other.
Result<void> run_merge_heads(const KernelContext& context) {
  const TensorView& x = context.inputs[0];  // [B, H, T, d]
  const TensorView& y = context.outputs[0];
  // y in memory is [B, T, H, d]: the same elements, with tokens and heads changing places.
  const auto dense = dense_strides(x.shape);
  const Shape by_token{x.shape[0], x.shape[2], x.shape[1], x.shape[3]};
  strided_copy(x.data, std::array{dense[0], dense[2], dense[1], dense[3]}, by_token,
               element_bytes(x), y.data);
  return {};
}

// broadcast ---------------------------------------------------------------------------------

// The extents that the attribute or the port `like` asks for.
Result<std::vector<Dim>> broadcast_target(const InferContext& context) {
  const auto& shape = context.attributes.integers("shape");
  if (context.inputs[1] != nullptr) {
    // An empty list is the default: no shape was given.
    if (shape.empty()) return context.inputs[1]->dims;
    return fail::invalid(
        "Attribute 'shape' is [{}] and port 'like' has type {}; only one of them may be given.",
        fmt::join(shape, ", "), context.inputs[1]->to_string());
  }
  QUERN_TRY(check_rank_limit("shape", static_cast<int64_t>(shape.size())));
  std::vector<Dim> dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t from_end = shape.size() - i;  // -1 keeps the extent of x
    const auto& own = context.inputs[0]->dims;
    const bool is_kept = shape[i] == -1 && from_end <= own.size();
    if (shape[i] < 0 && !is_kept) {
      return fail::invalid("Attribute 'shape' has the extent {} at axis {}.", shape[i], i);
    }
    dims.push_back(is_kept ? own[own.size() - from_end] : Dim::constant(shape[i]));
  }
  return dims;
}

// NumPy's rule, from the last axis: equal extents, or 1 in x.
Result<Types> infer_broadcast(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", x));
  QUERN_ASSIGN_OR_RETURN(std::vector<Dim> dims, broadcast_target(context));
  // The dtype stays that of x, whatever `like` has.
  const TensorType y{x.dtype, std::move(dims)};
  bool fits = y.rank() >= x.rank();
  // From the last axis; the axes that y has in front are new.
  for (int i = 1; fits && i <= x.rank(); ++i) {
    const Dim& from = x.dims[static_cast<size_t>(x.rank() - i)];
    fits = from == Dim::constant(1) || from == y.dims[static_cast<size_t>(y.rank() - i)];
  }
  if (fits) return Types{y};
  return fail::invalid("Port 'x' has type {}; it does not broadcast to {}.", x.to_string(),
                       y.to_string());
}

// A repeated axis has stride 0.
Result<void> run_broadcast(const KernelContext& context) {
  const Shape& x = context.inputs[0].shape;
  const Shape& y = context.outputs[0].shape;
  const auto dense = dense_strides(x);
  // All strides start at 0, which is right for new axes and for those of extent 1.
  std::array<int64_t, kMaxRank> strides{};
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto target = static_cast<size_t>(y.rank() - x.rank() + axis);
    if (x[axis] != 1) strides[target] = dense[static_cast<size_t>(axis)];
  }
  return copy_view(context, strides);
}

// last token, upsampling --------------------------------------------------------------------

// [B, T, D] to [B, D].
Result<Types> infer_last_token(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", x));
  QUERN_TRY(expect_rank("x", x, 3));
  return Types{{x.dtype, {x.dims[0], x.dims[2]}}};
}

// The last row of each sequence; there must be one.
Result<void> run_last_token(const KernelContext& context) {
  const TensorView& x = context.inputs[0];  // [B, T, D]
  const TensorView& y = context.outputs[0];
  const int64_t num_tokens = x.shape[1], width = x.shape[2];
  if (num_tokens == 0) {
    return fail::invalid("Port 'x' has the shape {}; axis 1 needs at least one token.",
                         x.shape.to_string());
  }
  const int64_t offset = (num_tokens - 1) * width * element_bytes(x);
  strided_copy(x.data + offset, std::array<int64_t, 2>{num_tokens * width, 1}, y.shape,
               element_bytes(x), y.data);
  return {};
}

// Whole multiples only: then every element is repeated equally often.
Result<Types> infer_upsample(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_whole_elements("x", x));
  QUERN_TRY(expect_rank("x", x, 4));
  TensorType y = x;
  for (const int axis : {2, 3}) {
    const std::string_view name = axis == 2 ? "out_h" : "out_w";
    const int64_t wanted = context.attributes.integer(name);
    QUERN_ASSIGN_OR_RETURN(const int64_t extent, constant_dim("x", x, axis));
    // 0 and less are no extents, and nothing is a multiple of an empty axis.
    if (wanted <= 0 || extent <= 0 || wanted % extent != 0) {
      return fail::invalid("Attribute '{}' is {}; it must be a multiple of the extent {} of 'x'.",
                           name, wanted, extent);
    }
    y.dims[static_cast<size_t>(axis)] = Dim::constant(wanted);
  }
  return Types{y};
}

// Repeats are axes of stride 0, so that one strided copy does it all.
Result<void> run_upsample(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  const int64_t h = x.shape[2], w = x.shape[3];
  // Repeats are axes of stride 0: [N * C, h, repeat, w, repeat].
  // Five axes instead of four keep the repeats apart from the steps.
  const Shape repeated{x.shape[0] * x.shape[1], h, y.shape[2] / h, w, y.shape[3] / w};
  strided_copy(x.data, std::array<int64_t, 5>{h * w, w, 0, 1, 0}, repeated, element_bytes(x),
               y.data);
  return {};
}

}  // namespace

void register_shape_views(OpRegistry& registry) {
  using namespace op_parts;
  registry.add({.id = "shape.reshape",
                .doc = "The same elements in row-major order under another shape. One extent may "
                       "be -1: what is left, which may be symbolic. Any dtype of whole bytes.",
                .shape_rule = "x of any dtype; y has its dtype and as many elements.",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                             "none. Extents that do not fit are refused.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .attributes = {integers("shape", kRequired, "Extents; one may be -1.")},
                .infer = infer_reshape,
                .reference = copy_elements,
                .in_place_input = 0});
  registry.add({.id = "shape.transpose",
                .doc = "Swaps two axes; negative axes count from the end.",
                .shape_rule = "x of any type of whole bytes; y has its extents in the new "
                              "order.",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                             "none. An axis swapped with itself copies. Axes out of range are "
                             "refused.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .attributes = {integer("dim0", kRequired, "One axis."),
                               integer("dim1", kRequired, "The other axis.")},
                .infer = infer_transpose,
                .reference = run_transpose});
  registry.add({.id = "shape.permute",
                .doc = "Axis i of y is axis order[i] of x.",
                .shape_rule = "x of any type of whole bytes; y has its extents in the new "
                              "order.",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                             "none. Axes out of range or named twice are refused.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .attributes = {integers("order", kRequired, "A permutation of the axes.")},
                .infer = infer_permute,
                .reference = run_permute});
  registry.add({.id = "shape.view_as_heads",
                .doc = "[B, T, D] to [B, H, T, D / H]: head h takes columns h * D / H and on.",
                .shape_rule = "x [B, T, D] of any dtype of whole bytes; y [B, H, T, D / H].",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                             "none. Heads that do not divide D are refused.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .attributes = {integer("num_heads", kRequired, "H, which divides D.")},
                .infer = infer_view_as_heads,
                .reference = run_view_as_heads});
  registry.add({.id = "shape.merge_heads",
                .doc = "[B, H, T, d] to [B, T, H * d]: the inverse of shape.view_as_heads.",
                .shape_rule = "x [B, H, T, d] of any dtype of whole bytes; y [B, T, H * d].",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                             "none.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .infer = infer_merge_heads,
                .reference = run_merge_heads});
  registry.add(
      {.id = "shape.broadcast",
       .doc = "Repeats axes of extent 1 and adds leading axes, as NumPy does, to the "
              "extents of the attribute 'shape' or of the port 'like'.",
       .shape_rule = "x of any type of whole bytes, like of any type (optional); y "
                     "has x's dtype and the extents asked for.",
       .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                    "none. Extents that x does not broadcast to are refused.",
       .f32_bound = 0,
       .inputs = {port("x"), optional_port("like")},
       .outputs = {port("y")},
       .attributes = {integers("shape", std::vector<int64_t>{}, "Extents; -1 keeps that of x.")},
       .infer = infer_broadcast,
       .reference = run_broadcast});
  registry.add({.id = "shape.last_token",
                .doc = "[B, T, D] to [B, D]: the last position. T = 0 is an error.",
                .shape_rule = "x [B, T, D] of any dtype of whole bytes; y [B, D].",
                .edge_rule = "Every value is copied bit for bit, NaN too. B = 0 gives none.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .infer = infer_last_token,
                .reference = run_last_token});
  registry.add({.id = "shape.upsample_nearest2d",
                .doc = "[N, C, h, w] to [N, C, out_h, out_w]: each element is repeated; out_h and "
                       "out_w are multiples of h and w.",
                .shape_rule = "x [N, C, h, w] of any dtype of whole bytes; y [N, C, out_h, "
                              "out_w].",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give "
                             "none. Extents that are no multiples are refused.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .attributes = {integer("out_h", kRequired, "Rows of the output."),
                               integer("out_w", kRequired, "Columns of the output.")},
                .infer = infer_upsample,
                .reference = run_upsample});
}

}  // namespace quern
