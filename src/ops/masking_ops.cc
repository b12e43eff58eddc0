// Masks and position biases of attention scores: apply, causal, alibi.
#include <limits>
#include <vector>

#include "base/fail.h"
#include "ir/tensor_type.h"
#include "ops/elementwise.h"
#include "ops/index_access.h"
#include "ops/math/strict_math.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace op_parts;
using namespace type_rules;
using Types = std::vector<TensorType>;

// apply -------------------------------------------------------------------------------------

// The mask repeats over the leading axes, so its extents are the last ones of the logits.
Result<Types> infer_apply(const InferContext& context) {
  const TensorType& logits = *context.inputs[0];
  const TensorType& mask = *context.inputs[1];
  QUERN_TRY(expect_float("logits", logits));
  QUERN_TRY(expect_dtype("mask", mask, {logits.dtype}));
  const bool fits = mask.rank() <= logits.rank() &&
                    std::equal(mask.dims.rbegin(), mask.dims.rend(), logits.dims.rbegin());
  if (fits) return Types{logits};
  return fail::invalid(
      "Port 'mask' has type {}; its extents must be the last ones of 'logits', {}.",
      mask.to_string(), logits.to_string());
}

// Adds the mask; -infinity hides a score without a branch.
struct ApplyKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> logits(context.inputs[0]), mask(context.inputs[1]);
    FloatOutput<T> masked(context.outputs[0]);
    // The mask holds the last axes, so in memory it repeats every mask.size() elements. An empty
    // mask means empty logits, and the loop does not start.
    for (int64_t row = 0; row < masked.size(); row += mask.size()) {
      for (int64_t i = 0; i < mask.size(); ++i) masked[row + i] = logits[row + i] + mask[i];
    }
    return {};
  }
};

// causal ------------------------------------------------------------------------------------

// The extents come from the attribute, since a value of 'seq' is unknown before the run.
// Shape::make refuses negative lengths and too many elements.
Result<Types> infer_causal(const InferContext& context) {
  const int64_t seq_len = context.attributes.integer("seq_len");
  const auto dtype = find_dtype(context.attributes.text("dtype"));
  if (!dtype || !is_float(*dtype)) {
    return fail::invalid("Attribute 'dtype' is '{}'; it must name a float dtype.",
                         context.attributes.text("dtype"));
  }
  // A graph that computes the length may pass it in; it can only confirm the attribute.
  if (const TensorType* seq = context.inputs[0]) {
    QUERN_TRY(expect_dtype("seq", *seq, {DType::kI64, DType::kI32}));
    QUERN_TRY(expect_rank("seq", *seq, 1));
    QUERN_TRY(expect_dim("seq", *seq, 0, Dim::constant(1), "one length"));
  }
  QUERN_TRY(Shape::make(std::array<int64_t, 2>{seq_len, seq_len}));
  return Types{{*dtype, {Dim::constant(seq_len), Dim::constant(seq_len)}}};
}

// 0 on and below the diagonal, -infinity above it.
struct CausalKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const int64_t n = context.attributes.integer("seq_len");
    const std::vector<int64_t> given = load_indices(context.inputs[0]);
    if (!given.empty() && given[0] != n) {
      return fail::invalid("Port 'seq' holds {}; the attribute 'seq_len' is {}.", given[0], n);
    }
    FloatOutput<T> mask(context.outputs[0]);
    // Row i is the query, column j the key: a query sees itself and what came before.
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        mask[i * n + j] = j <= i ? T(0) : -std::numeric_limits<T>::infinity();
      }
    }
    return {};
  }
};

// No input has the dtype of the mask, so the output decides the type computed in.
Result<void> run_causal(const KernelContext& context) {
  return with_compute_type(context.outputs[0].dtype,
                           [&]<class T>(T) { return CausalKernel::run<T>(context); });
}

// alibi -------------------------------------------------------------------------------------

// Scores [B, H, queries, keys] with the number of heads that the attribute says.
Result<Types> infer_alibi(const InferContext& context) {
  const TensorType& scores = *context.inputs[0];
  const int64_t num_heads = context.attributes.integer("num_heads");
  QUERN_TRY(expect_float("scores", scores));
  QUERN_TRY(expect_rank("scores", scores, 4));
  QUERN_TRY(expect_dim("scores", scores, 1, Dim::constant(num_heads), "num_heads"));
  return Types{scores};
}

// Adds a penalty that grows with the distance (Press, Smith and Lewis 2022, arXiv 2108.12409);
// each head has its own slope.
struct AlibiKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const Shape& shape = context.inputs[0].shape;  // [B, H, queries, keys]
    const bool is_causal = context.attributes.flag("causal");
    const FloatInput<T> scores(context.inputs[0]);
    FloatOutput<T> biased(context.outputs[0]);
    for (int64_t i = 0; i < biased.size(); ++i) {
      // The position in [B, H, queries, keys], from the last axis outwards.
      const int64_t key = i % shape[3], query = i / shape[3] % shape[2];
      const int64_t head = i / (shape[3] * shape[2]) % shape[1];
      const int64_t ahead = key - query;
      // The causal form lets keys ahead of the query gain, since a causal mask hides them; the
      // other form takes the same penalty both ways.
      const T distance = static_cast<T>(is_causal || ahead < 0 ? ahead : -ahead);
      // Rounding: the slope from f64 once, the product, the sum.
      biased[i] = scores[i] + static_cast<T>(alibi_slope(head, shape[1])) * distance;
    }
    return {};
  }

  // The geometric sequence of the paper for any number of heads: 2^(-8 (h + 1) / H).
  static double alibi_slope(int64_t head, int64_t num_heads) {
    return strict_exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(num_heads));
  }
};

}  // namespace

void register_masking_ops(OpRegistry& registry) {
  registry.add({.id = "masking.apply",
                .doc = "logits + mask; the mask is additive (0 or -inf) and repeats over leading "
                       "axes.",
                .shape_rule = "logits of any float type; mask of the same dtype with the "
                              "last extents of logits; masked has the type of logits.",
                .edge_rule = "IEEE: +inf plus -inf is NaN. No elements give none.",
                .f32_bound = 1,
                .inputs = {port("logits"), port("mask")},
                .outputs = {port("masked")},
                .infer = infer_apply,
                .reference = float_kernel<ApplyKernel>,
                .in_place_input = 0});
  registry.add({.id = "masking.causal",
                .doc = "[seq_len, seq_len]: 0 where column <= row, else -inf. 'seq' may repeat the "
                       "length; another one is an error.",
                .shape_rule = "seq i32 or i64 [1], optional; mask [seq_len, seq_len] of the "
                              "attribute's float dtype.",
                .edge_rule = "seq_len = 0 gives none; a negative one is refused.",
                .f32_bound = 0,
                .inputs = {optional_port("seq")},
                .outputs = {port("mask")},
                .attributes = {integer("seq_len", kRequired, "Rows and columns."),
                               text("dtype", "f64", "A float dtype.")},
                .infer = infer_causal,
                .reference = run_causal});
  registry.add({.id = "positional.alibi",
                .doc = "scores [B, H, queries, keys] + slope * (key - query), not causal "
                       "-slope * |key - query|; slope of head h = 2^(-8 (h + 1) / H) in f64, then "
                       "rounded. Both positions count from 0; the product and the sum round.",
                .shape_rule = "scores [B, H, queries, keys] of floats; biased has the type.",
                .edge_rule = "IEEE: NaN gives NaN, infinities stay. No elements give none.",
                .f32_bound = 2,
                .inputs = {port("scores")},
                .outputs = {port("biased")},
                .attributes = {integer("num_heads", kRequired, "H, the second extent."),
                               flag("causal", true, "Which form.")},
                .infer = infer_alibi,
                .reference = float_kernel<AlibiKernel>,
                .in_place_input = 0});
}

}  // namespace quern
