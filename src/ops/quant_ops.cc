// The operation that quantises activations.
#include <vector>

#include "base/checked_math.h"
#include "base/fail.h"
#include "ops/float_rows.h"
#include "ops/op_parts.h"
#include "ops/quant_dynamic.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

// Integers of the extents of x, and one scale for each block of a row.
Result<std::vector<TensorType>> infer_dynamic(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_float("x", x));
  QUERN_TRY(expect_rank_at_least("x", x, 1));
  // The number of scales depends on K, so a symbol will not do.
  QUERN_ASSIGN_OR_RETURN(const int64_t k, constant_dim("x", x, x.rank() - 1));
  const int64_t block = context.attributes.integer("block");
  const int64_t bits = context.attributes.integer("bits");
  if (block < 1) return fail::invalid("Attribute 'block' is {}; it must be 1 or more.", block);
  if (bits != 8 && bits != 16) {
    return fail::invalid("Attribute 'bits' is {}; it must be 8 or 16.", bits);
  }
  TensorType q{.dtype = bits == 8 ? DType::kI8 : DType::kI16, .dims = x.dims};
  // ceil(k / block), without a sum that could overflow.
  const Dim blocks = Dim::constant(k / block + (k % block != 0 ? 1 : 0));
  return std::vector<TensorType>{std::move(q), with_last_dim(x, DType::kF32, blocks)};
}

// Row by row, since a block does not reach into the next row.
template <class Int>
void quantize_rows(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  const int64_t k = x.shape.last();
  const int64_t blocks = context.outputs[1].shape.last();
  const int32_t limit = dynamic_limit(context.attributes.integer("bits"));
  // f64 rounds to f32 when a row is loaded, narrow floats widen exactly.
  std::vector<float> row(static_cast<size_t>(k));
  std::vector<int32_t> q(static_cast<size_t>(k));
  for (int64_t r = 0; r < x.shape.num_rows(); ++r) {
    load_row(x, r * k, k, row.data());
    // Scales of row r stand together: [.., blocks].
    float* d = context.outputs[1].as<float>() + r * blocks;
    quantize_dynamic(row, context.attributes.integer("block"), limit, q,
                     {d, static_cast<size_t>(blocks)});
    Int* out = context.outputs[0].as<Int>() + r * k;
    // |q| is at most the limit of the width: the cast keeps it.
    for (size_t i = 0; i < q.size(); ++i) out[i] = static_cast<Int>(q[i]);
  }
}

// The attribute decides which integers the output has.
Result<void> run_dynamic(const KernelContext& context) {
  if (context.attributes.integer("bits") == 8) {
    quantize_rows<int8_t>(context);
  } else {
    quantize_rows<int16_t>(context);
  }
  return {};
}

}  // namespace

void register_quant_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add(
      {.id = "quant.dynamic",
       .doc =
           "Integers and scales of x [..., K] in blocks along the last axis (the last may be "
           "short): amax = max |x|, d = amax / limit, r = limit / amax, q = round_even(x * r) "
           "clamped to [-limit, limit]; limit is 127 or, with 16 bits, 32,639. d = r = 0 below "
           "2^-100. A block with NaN or infinity has d = NaN and q = 0. f64 rounds to f32 first.",
       .shape_rule = "x [..., K] floats, K constant; q i8 or i16 [..., K]; d f32 "
                     "[..., ceil(K / block)].",
       .edge_rule = "No elements give none. Other widths and blocks below 1 are "
                    "refused.",
       .f32_bound = 0,
       .inputs = {port("x")},
       .outputs = {port("q"), port("d")},
       .attributes = {integer("block", 32, "Elements that share a scale."),
                      integer("bits", 8, "Width of the integers: 8 or 16.")},
       .infer = infer_dynamic,
       .reference = run_dynamic});
}

}  // namespace quern
