// Rotation of adjacent pairs by angles whose cosines and sines are given.
#include <vector>

#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace type_rules;

// x [T, 2 half_dim], cos and sin [T, half_dim], all of one float dtype. The attribute repeats what
// the extents say, and must agree.
Result<std::vector<TensorType>> infer_rope_pairs(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  const int64_t half_dim = context.attributes.integer("half_dim");
  QUERN_TRY(expect_float("x", x));
  QUERN_TRY(expect_rank("x", x, 2));
  // The bound keeps the doubling within 64 bits.
  if (half_dim < 1 || half_dim > INT64_MAX / 2 || x.dims[1] != Dim::constant(half_dim * 2)) {
    return fail::invalid("Port 'x' has type {}; its last extent must be twice half_dim, {}.",
                         x.to_string(), half_dim);
  }
  const TensorType angles{x.dtype, {x.dims[0], Dim::constant(half_dim)}};
  QUERN_TRY(expect_type(context, 1, angles, "one for each pair of 'x'"));
  QUERN_TRY(expect_type(context, 2, angles, "one for each pair of 'x'"));
  return std::vector<TensorType>{x};
}

// The rotation of positional.rope in style interleaved, with angles from outside: (x0 c - x1 s, x0
// s + x1 c), each product rounded, then the sum.
struct RopePairsKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> x(context.inputs[0]), cos(context.inputs[1]), sin(context.inputs[2]);
    FloatOutput<T> y(context.outputs[0]);
    // A row of x has as many pairs as a row of cos has elements, so one index serves the whole
    // tensor.
    for (int64_t i = 0; i < cos.size(); ++i) {
      const T x0 = x[2 * i], x1 = x[2 * i + 1];
      y[2 * i] = x0 * cos[i] - x1 * sin[i];
      y[2 * i + 1] = x0 * sin[i] + x1 * cos[i];
    }
    return {};
  }
};

}  // namespace

void register_rope_pairs_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add({.id = "rope.rope_pairs",
                .doc = "Pairs (2i, 2i + 1) of x [T, D] rotated: (x0 c - x1 s, x0 s + x1 c), each "
                       "product and sum rounded; c and s come from cos and sin [T, D / 2].",
                .shape_rule = "x [T, D], cos, sin [T, D / 2], y [T, D] of one float dtype, D "
                              "= 2 half_dim.",
                .edge_rule = "NaN and infinities stay in their pair. T = 0 gives none.",
                .f32_bound = 8,
                .f32_cancels = true,
                .inputs = {port("x"), port("cos"), port("sin")},
                .outputs = {port("y")},
                .attributes = {integer("half_dim", kRequired, "D / 2.")},
                .infer = infer_rope_pairs,
                .reference = float_kernel<RopePairsKernel>});
}

}  // namespace quern
