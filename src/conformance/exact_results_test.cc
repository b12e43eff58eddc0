// Exact results and their sensitivity on operations whose derivatives are known.
#include "conformance/exact_results.h"

#include <gtest/gtest.h>

#include <cmath>

#include "conformance/error_units.h"
#include "conformance/host_values.h"
#include "conformance/ulp_sweep.h"

namespace quern {
namespace {

constexpr double kHalfUlp = 0x1p-24;  // of f32, relative

class ExactResults : public testing::Test {
 protected:
  std::vector<ExactResult> run(CaseRow row, const std::vector<Tensor>& inputs) {
    const auto patterns = parse_case_row(row, builtin_ops());
    EXPECT_TRUE(patterns) << (patterns ? "" : patterns.error().message);
    ExactReference exact{*backend_, *device_};
    auto results = exact.run(patterns->front(), inputs, 1);
    EXPECT_TRUE(results) << (results ? "" : results.error().message);
    return results ? *results : std::vector<ExactResult>();
  }
  static Tensor f32(std::vector<double> values) {
    return *tensor_of_numbers(DType::kF32, Shape{static_cast<int64_t>(values.size())}, values);
  }

  const BackendRegistry registry_ = register_backends();
  const Backend* backend_ = *registry_.find("reference");
  const std::unique_ptr<Device> device_ = *backend_->open({});
};

// Sensitivities add over the inputs.
TEST_F(ExactResults, AProductChangesByEachFactor) {
  const auto results = run({"math.mul", "f[N] f[N]", "", "N=2", ""}, {f32({3, 1}), f32({5, -2})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].values, (std::vector<double>{15, -2}));
  // Each factor moves by half an ulp, either way; the changes of both add up.
  EXPECT_DOUBLE_EQ(results[0].changes[0], 2 * 15 * kHalfUlp);
  EXPECT_DOUBLE_EQ(results[0].changes[1], 2 * 2 * kHalfUlp);
}

// Cancellation is in the inputs, not in the kernel.
TEST_F(ExactResults, ASumChangesByTheSizeOfItsTerms) {
  // 1 - 1 is 0, but half an ulp in each 1 is not.
  const auto results = run({"elementwise.sub", "f[N] f[N]", "", "N=1", ""}, {f32({1}), f32({1})});
  EXPECT_EQ(results[0].values, std::vector<double>{0});
  EXPECT_DOUBLE_EQ(results[0].changes[0], 2 * kHalfUlp);
}

// x f'(x) half an ulp.
TEST_F(ExactResults, AFunctionChangesByItsSlope) {
  // exp'(x) x = x e^x.
  const auto results = run({"math.exp", "f[N]", "", "N=2", ""}, {f32({10, -3})});
  EXPECT_NEAR(results[0].changes[0] / (10 * std::exp(10.0) * kHalfUlp), 1, 1e-6);
  EXPECT_NEAR(results[0].changes[1] / (3 * std::exp(-3.0) * kHalfUlp), 1, 1e-6);
}

// As OpDef::f32_cancels says.
TEST_F(ExactResults, CancellingOperationsCountTheirLargestInput) {
  const OpDef& op = *builtin_ops().find("activation.tanh_shrink");
  ASSERT_TRUE(op.f32_cancels);
  const auto results = run({"activation.tanh_shrink", "f[N]", "", "N=2", ""}, {f32({1e-3, 40})});
  // An ulp at 40 joins every element.
  EXPECT_GE(results[0].changes[0], ulp_at(DType::kF32, 40));
  EXPECT_LT(results[0].changes[0], 1.01 * ulp_at(DType::kF32, 40));
}

// 0.1 is another number in f32.
TEST_F(ExactResults, AttributesCountAsF32SeesThem) {
  const auto results = run({"math.scale", "f[N]", "factor=0.1", "N=1", ""}, {f32({1})});
  EXPECT_EQ(results[0].values[0], static_cast<double>(0.1f));
}

// Indices have no ulp.
TEST_F(ExactResults, IntegersDoNotMove) {
  const Tensor ids = *tensor_of_numbers(DType::kI32, Shape{2}, std::vector<double>{1, 0});
  const Tensor table = *tensor_of_numbers(DType::kF32, Shape{2, 1}, std::vector<double>{4, 8});
  const auto results =
      run({"embedding.token", "i32<V[N] f[V,D]", "", "N=2 V=2 D=1", ""}, {ids, table});
  EXPECT_EQ(results[0].values, (std::vector<double>{8, 4}));
  EXPECT_DOUBLE_EQ(results[0].changes[0], 8 * kHalfUlp);
}

// Block-quantised weights take no f64 activations: there is nothing exact to compare with.
TEST_F(ExactResults, AreEmptyWhereF64IsRefused) {
  const Tensor x = *Tensor::zeros(DType::kF32, Shape{1, 32});
  const Tensor weight = *Tensor::zeros(DType::kQ8_0, Shape{2, 32});
  EXPECT_TRUE(
      run({"projection.linear", "f32[N,32] q8_0[O,32]", "", "N=1 O=2", ""}, {x, weight}).empty());
}

// Where f64 is another question.
TEST(HasExactResults, LeavesOutChoicesAndPrograms) {
  const auto has = [](const char* id) { return has_exact_results(*builtin_ops().find(id)); };
  EXPECT_TRUE(has("math.exp"));
  EXPECT_TRUE(has("reduction.argmax"));
  EXPECT_TRUE(has("Fused"));  // a fixed expansion has a bound of its own
  EXPECT_FALSE(has("fused.linear"));
  EXPECT_FALSE(has("fused.elementwise"));
  EXPECT_FALSE(has("random.normal"));
  EXPECT_FALSE(has("sampling.greedy_sample"));
}

// Short ones are for the command line.
TEST(UlpFunctions, AreFoundByBothNames) {
  for (const UlpFunction& function : ulp_functions()) {
    EXPECT_EQ(find_ulp_function(function.name), &function);
    EXPECT_EQ(find_ulp_function(function.op), &function);
    EXPECT_NE(builtin_ops().find(function.op), nullptr) << function.op;
  }
  EXPECT_EQ(find_ulp_function("gelu"), nullptr);
  EXPECT_EQ(find_ulp_function(""), nullptr);
  EXPECT_EQ(find_ulp_function("exp")->exact(0), 1);
  EXPECT_EQ(find_ulp_function("sigmoid")->exact(0), 0.5);
}

// A coarse sweep of every function stays within the promised 2 ulp and tells how far it is.
TEST_F(ExactResults, SweepsStayWithinTwoUlp) {
  for (const UlpFunction& function : ulp_functions()) {
    int64_t last = 0, total = 0;
    const auto worst =
        sweep_ulp(function, *backend_, *device_, 999983, [&](int64_t done, int64_t all) {
          EXPECT_GT(done, last);
          last = done;
          total = all;
        });
    ASSERT_TRUE(worst) << worst.error().message;
    EXPECT_LE(worst->ulp, 2) << function.name << " at " << worst->input;
    EXPECT_EQ(worst->num_inputs, (uint64_t{1} << 32) / 999983 + 1);
    EXPECT_EQ(last, total);
    EXPECT_EQ(static_cast<uint64_t>(total), worst->num_inputs);
  }
}

}  // namespace
}  // namespace quern
