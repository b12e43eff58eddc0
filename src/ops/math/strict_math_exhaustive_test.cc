// Every strict f32 function of one argument over all 2^32 inputs; prints the largest error.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "ops/math/f32_sweep.h"

namespace quern {
namespace {

class StrictMathExhaustive : public testing::TestWithParam<const char*> {};

// All 2^32 inputs: slow, run on demand.
TEST_P(StrictMathExhaustive, WithinTwoUlp) {
  const MathOracle* oracle = find_math_oracle(GetParam());
  if (oracle == nullptr) GTEST_SKIP() << GetParam() << " is a composition of rounded steps.";
  const auto result = sweep_f32(fastest_f32_evaluator(GetParam()), *oracle, 1);
  std::printf("%s: %.3f ulp at %a\n", GetParam(), result.worst_ulp,
              static_cast<double>(result.worst_input));
  // Counting proves that no block was skipped and none was taken twice.
  EXPECT_EQ(result.num_inputs, uint64_t{1} << 32);
  EXPECT_LE(result.worst_ulp, 2) << "at " << std::hexfloat << result.worst_input;
}

constexpr const char* kNames[] = {
#define QUERN_UNARY(name) #name,
#include "ops/math/unary_functions.inc"
#undef QUERN_UNARY
};
INSTANTIATE_TEST_SUITE_P(All, StrictMathExhaustive, testing::ValuesIn(kNames),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace quern
