// Positional population counts: how often each bit position is set in a buffer.
#include <algorithm>
#include <vector>

#include "base/fail.h"
#include "ops/number_kernel.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

// The dtype of the data decides the number of counters: one for each bit.
template <DType dtype, int num_bits>
Result<std::vector<TensorType>> infer_count(const InferContext& context) {
  const TensorType& counts = *context.inputs[0];
  QUERN_TRY(expect_dtype("counts", counts, {DType::kU64}));
  QUERN_TRY(expect_rank("counts", counts, 1));
  // counts[0] is the least significant bit.
  QUERN_TRY(expect_dim("counts", counts, 0, Dim::constant(num_bits), "one for each bit"));
  QUERN_TRY(expect_dtype("data", *context.inputs[1], {dtype}));
  QUERN_TRY(expect_rank("data", *context.inputs[1], 1));
  return std::vector<TensorType>{counts};
}

// Counts bit by bit; the counts add to those given and wrap modulo 2^64.
template <class Word>
Result<void> run_count(const KernelContext& context) {
  constexpr int kNumBits = 8 * sizeof(Word);
  const IntegerElements<uint64_t> counts(context.inputs[0]), counts_out(context.outputs[0]);
  const IntegerElements<Word> data(context.inputs[1]);
  // Starting from the given counts, a long buffer can be counted piece by piece.
  for (int bit = 0; bit < kNumBits; ++bit) counts_out[bit] = counts[bit];
  // Bit by bit and word by word: the definition that faster ways of counting must match.
  for (int64_t i = 0; i < data.size(); ++i) {
    for (int bit = 0; bit < kNumBits; ++bit) counts_out[bit] += data[i] >> bit & 1;
  }
  return {};
}

// The operation for one width of words.
template <DType dtype, class Word>
OpDef count_op(std::string id) {
  return {.id = std::move(id),
          .doc =
              "counts_out[b] = counts[b] + the number of elements of 'data' with bit b set; bit "
              "0 is the least significant. Counts are u64 and wrap.",
          .shape_rule =
              "counts u64 [bits of a word], data [n] of unsigned words; "
              "counts_out has the type of counts.",
          .edge_rule = "No words leave the counts.",
          .f32_bound = 0,
          .inputs = {op_parts::port("counts"), op_parts::port("data")},
          .outputs = {op_parts::port("counts_out")},
          .infer = infer_count<dtype, 8 * sizeof(Word)>,
          .reference = run_count<Word>};
}

}  // namespace

void register_pospop_ops(OpRegistry& registry) {
  // A string is its bytes: count_string is count8 under another published name.
  registry.add(count_op<DType::kU8, uint8_t>("pospop.count_string"));
  registry.add(count_op<DType::kU8, uint8_t>("pospop.count8"));
  registry.add(count_op<DType::kU16, uint16_t>("pospop.count16"));
  registry.add(count_op<DType::kU32, uint32_t>("pospop.count32"));
  registry.add(count_op<DType::kU64, uint64_t>("pospop.count64"));
}

}  // namespace quern
