// Mixtures of experts: a linear projection per chosen expert, and the weighted sum of results.
#include <cstring>
#include <vector>

#include "base/fail.h"
#include "ops/float_rows.h"
#include "ops/linear_kernel.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

// Type rule: projection.linear with the weight of one expert, then rows per token and choice.
// x [T, K] or [T, U, K], weight [E, N, K], experts [T, U], bias [E, N]; y [T, U, N]. A token has U
// choices; with rank 3 each of them has its own row of x, as after a first layer of experts.
Result<std::vector<TensorType>> infer_experts(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  const TensorType& weight = *context.inputs[1];
  const TensorType& experts = *context.inputs[2];
  QUERN_TRY(expect_rank("weight", weight, 3));
  QUERN_TRY(expect_rank("experts", experts, 2));
  QUERN_TRY(expect_dtype("experts", experts, {DType::kI32}));
  QUERN_TRY(expect_rank_at_least("x", x, 2));
  QUERN_TRY(expect_dim("x", x, 0, experts.dims[0], "the rows of 'experts'"));
  if (x.rank() == 3) QUERN_TRY(expect_dim("x", x, 1, experts.dims[1], "the columns of 'experts'"));
  if (x.rank() > 3) QUERN_TRY(expect_rank("x", x, 3));
  // One expert's weight and bias as projection.linear sees them, so that its rule decides on
  // dtypes, blocks and scales; the leading E is this operation's affair.
  const TensorType one{weight.dtype, {weight.dims[1], weight.dims[2]}, weight.layout};
  TensorType bias;
  if (context.inputs[3] != nullptr) {
    QUERN_TRY(expect_rank("bias", *context.inputs[3], 2));
    QUERN_TRY(expect_dim("bias", *context.inputs[3], 0, weight.dims[0], "the experts of 'weight'"));
    bias = {context.inputs[3]->dtype, {context.inputs[3]->dims[1]}, context.inputs[3]->layout};
  }
  // The order of projection.linear's ports: x, weight, bias, scale.
  const TensorType* inputs[] = {&x, &one, context.inputs[3] == nullptr ? nullptr : &bias,
                                context.inputs[4]};
  QUERN_ASSIGN_OR_RETURN(
      auto types,
      infer_linear({.inputs = inputs, .attributes = context.attributes, .states = context.states}));
  const TensorType y{types[0].dtype, {experts.dims[0], experts.dims[1], weight.dims[1]}, x.layout};
  return std::vector<TensorType>{y};
}

// One row of x for each (token, choice) of an expert.
// `x` and `scale` are dense rows, in the order of `slots`.
struct Gathered {
  std::vector<int64_t> slots;  // token * choices + choice
  std::vector<std::byte> x;
  std::vector<std::byte> scale;
};

// Bytes of a row; the last extent is whole blocks.
// Of x, the scales and y, whose dtypes have one element a block.
int64_t row_bytes(const TensorView& view) {
  return view.shape.last() * dtype_info(view.dtype).block_bytes;
}

// Appends one row's bytes.
void append_row(const TensorView& view, int64_t row, std::vector<std::byte>& rows) {
  const int64_t size = row_bytes(view);
  rows.insert(rows.end(), view.data + row * size, view.data + (row + 1) * size);
}

// The rows of x, and of its scales, that chose this expert. A token's row repeats for each of
// its choices where x has one row per token.
Gathered gather(const KernelContext& context, int64_t expert) {
  const TensorView& x = context.inputs[0];
  const TensorView& experts = context.inputs[2];
  const TensorView& scale = context.inputs[4];
  const int64_t choices = experts.shape[1];
  Gathered rows;
  // A linear search over all slots for each expert: E * T * U comparisons, nothing beside the
  // products.
  for (int64_t slot = 0; slot < experts.shape.num_elements(); ++slot) {
    if (experts.as<const int32_t>()[slot] != expert) continue;
    const int64_t row = x.shape.rank() == 3 ? slot : slot / choices;
    rows.slots.push_back(slot);
    append_row(x, row, rows.x);
    if (scale.is_present()) append_row(scale, row, rows.scale);
  }
  return rows;
}

// Part `expert` of a view whose first axis counts experts.
// A part keeps whole blocks, since the last extent of a block format is whole blocks.
TensorView slice_expert(const TensorView& view, int64_t expert) {
  if (!view.is_present()) return view;
  TensorView part{view.dtype, {}, nullptr};
  for (int axis = 1; axis < view.shape.rank(); ++axis) part.shape.push_back(view.shape[axis]);
  const DTypeInfo& info = dtype_info(view.dtype);
  part.data = view.data + expert * (part.shape.num_elements() / info.block_size) * info.block_bytes;
  return part;
}

// One expert: gathers its rows, multiplies them together as projection.linear would, and
// scatters the results. An expert that nobody chose costs nothing.
// All rows of an expert at once decode its weight once. The results have the bits of each row
// alone, as projection.linear computes rows independently.
Result<void> run_expert(const KernelContext& context, int64_t expert) {
  Gathered rows = gather(context, expert);
  if (rows.slots.empty()) return {};
  const auto count = static_cast<int64_t>(rows.slots.size());
  const TensorView& x = context.inputs[0];
  const TensorView& scale = context.inputs[4];
  const TensorView& y = context.outputs[0];
  // The views point into `rows`, which lives until the end.
  TensorView inputs[] = {{x.dtype, Shape{count, x.shape.last()}, rows.x.data()},
                         slice_expert(context.inputs[1], expert),
                         slice_expert(context.inputs[3], expert),
                         {}};
  if (scale.is_present()) {
    inputs[3] = {scale.dtype, Shape{count, scale.shape.last()}, rows.scale.data()};
  }
  std::vector<std::byte> results(static_cast<size_t>(count * row_bytes(y)));
  const TensorView outputs[] = {{y.dtype, Shape{count, y.shape.last()}, results.data()}};
  QUERN_TRY(run_linear({.inputs = inputs, .outputs = outputs, .attributes = context.attributes}));
  // Slot s of y is row s of [T * U, N].
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(y.data + rows.slots[static_cast<size_t>(i)] * row_bytes(y),
                results.data() + i * row_bytes(y), static_cast<size_t>(row_bytes(y)));
  }
  return {};
}

// All choices are checked first, so that a bad one leaves no half-written result.
Result<void> run_experts(const KernelContext& context) {
  const TensorView& experts = context.inputs[2];
  const int64_t num_experts = context.inputs[1].shape[0];
  for (int64_t slot = 0; slot < experts.shape.num_elements(); ++slot) {
    const int32_t expert = experts.as<const int32_t>()[slot];
    if (expert >= 0 && expert < num_experts) continue;
    return fail::out_of_range("Expert {} at position {} is outside the {} experts.", expert, slot,
                              num_experts);
  }
  for (int64_t expert = 0; expert < num_experts; ++expert) {
    QUERN_TRY(run_expert(context, expert));
  }
  return {};
}

// Results [T, U, N] and one weight for each choice.
// The weights' dtype is y's, so that no product widens.
Result<std::vector<TensorType>> infer_combine(const InferContext& context) {
  const TensorType& y = *context.inputs[0];
  const TensorType& weights = *context.inputs[1];
  QUERN_TRY(expect_float("y", y));
  QUERN_TRY(expect_rank("y", y, 3));
  QUERN_TRY(expect_dtype("weights", weights, {y.dtype}));
  QUERN_TRY(expect_rank("weights", weights, 2));
  QUERN_TRY(expect_dim("weights", weights, 0, y.dims[0], "the rows of 'y'"));
  QUERN_TRY(expect_dim("weights", weights, 1, y.dims[1], "the choices of 'y'"));
  return std::vector<TensorType>{{y.dtype, {y.dims[0], y.dims[2]}, y.layout}};
}

// The weighted sum from +0 in the order of the choices.
// A plain chain over u: U is a handful, and the order is that of the choices as the router gave
// them. A weight of 0 multiplies too, so that NaN of an unused expert shows.
template <class T>
void combine(const KernelContext& context) {
  const Shape& shape = context.inputs[0].shape;
  const std::vector<T> y = load_all<T>(context.inputs[0]);
  const std::vector<T> weights = load_all<T>(context.inputs[1]);
  const int64_t n = shape[2];
  std::vector<T> sums(static_cast<size_t>(n));
  for (int64_t t = 0; t < shape[0]; ++t) {
    std::fill(sums.begin(), sums.end(), T(0));
    for (int64_t choice = 0; choice < shape[1]; ++choice) {
      const int64_t slot = t * shape[1] + choice;
      const T weight = weights[static_cast<size_t>(slot)];
      const T* row = y.data() + slot * n;
      for (int64_t i = 0; i < n; ++i) {
        sums[static_cast<size_t>(i)] = sums[static_cast<size_t>(i)] + weight * row[i];
      }
    }
    store_row(context.outputs[0], t * n, n, sums.data());
  }
}

// The dtype decides what the sum computes in.
Result<void> run_combine(const KernelContext& context) {
  with_compute_type(context.inputs[0].dtype, [&](auto type) { combine<decltype(type)>(context); });
  return {};
}

}  // namespace

void register_expert_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add({.id = "experts.linear",
                .doc = "y[t, u] = projection.linear of x[t] (or x[t, u]) with the weight of expert "
                       "experts[t, u]: x [T, K] or [T, U, K], weight [E, N, K], bias [E, N], "
                       "experts i32 [T, U]; y [T, U, N]. Types, bits and quantised activations as "
                       "projection.linear. An expert outside 0 .. E-1 is an error.",
                .shape_rule = "x [T, K] or [T, U, K], weight [E, N, K], experts i32 [T, U], "
                              "bias [E, N]; y [T, U, N], f64 for f64 x, else f32. Dtypes as "
                              "projection.linear.",
                .edge_rule = "NaN and infinities spread to their row. No tokens give none.",
                .f32_bound = 32,
                .inputs = {port("x"), port("weight"), port("experts"), optional_port("bias"),
                           optional_port("scale")},
                .outputs = {port("y")},
                .attributes = {integer("in_features", 0, "K; 0: that of the weight."),
                               integer("out_features", 0, "N; 0: that of the weight."),
                               number("weight_scale", 1.0, "Scale of the whole weight (nvfp4).")},
                .infer = infer_experts,
                .reference = run_experts});
  registry.add({.id = "experts.combine",
                .doc = "z[t] = sum over u of weights[t, u] * y[t, u], from +0 in the order of u: "
                       "y [T, U, N], weights [T, U]; z [T, N].",
                .shape_rule = "y [T, U, N], weights [T, U], z [T, N] of one float dtype.",
                .edge_rule = "NaN and infinities spread to their row; U = 0 gives zeros.",
                .f32_bound = 8,
                .inputs = {port("y"), port("weights")},
                .outputs = {port("z")},
                .infer = infer_combine,
                .reference = run_combine});
}

}  // namespace quern
