// Optimisers: explicit state, narrow parameters, edges. Values: the suite op_cases.
#include <gtest/gtest.h>

#include <cmath>

#include "support/op_runner.h"
#include "tensor/convert.h"

namespace quern::test {
namespace {

// What one step gives is what the next one takes.
// Outputs are params, m, v and the step. After one step m / (1 - b1) is g and v / (1 - b2) is g^2,
// so p moves by lr g / (|g| + eps), the rate itself.
TEST(Optimizers, StateComesOutAndGoesBackIn) {
  const Tensor p = f32(Shape{2}, {1, -2}), g = f32(Shape{2}, {0.5f, -0.25f});
  const auto first = run_op("train.optimizer.adam", {p, g});
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_EQ(first->size(), 4u);
  EXPECT_EQ(values_of<int64_t>((*first)[3]), (std::vector<int64_t>{1}));
  // The first step of adam has the length of the learning rate.
  EXPECT_NEAR(values_of<float>((*first)[0])[0], 1 - 1e-4f, 1e-7f);
  const auto second =
      run_op("train.optimizer.adam", {(*first)[0], g, (*first)[1], (*first)[2], (*first)[3]});
  ASSERT_TRUE(second);
  EXPECT_EQ(values_of<int64_t>((*second)[3]), (std::vector<int64_t>{2}));
}

// Small updates would vanish in f16.
// 1 - 0.5 * 1 = 0.5 is exact in bf16: any other number is a wrong rule, not a rounding.
TEST(Optimizers, NarrowParametersKeepStateInF32) {
  const Tensor p = tensor_of<uint16_t>(DType::kBF16, Shape{1}, {to_bf16(1.0f)});
  const Tensor g = tensor_of<uint16_t>(DType::kBF16, Shape{1}, {to_bf16(1.0f)});
  const auto outputs = run_op("train.optimizer.sgd", {p, g}, {{"lr", 0.5}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].dtype(), DType::kBF16);
  EXPECT_EQ((*outputs)[1].dtype(), DType::kF32);
  EXPECT_EQ(bf16_to_f32(values_of<uint16_t>((*outputs)[0]).at(0)), 0.5f);
}

// Nothing to do, and what does not fit.
// All optimisers with gradients, found in the registry, so that a new one is tried too. lr is given
// because lars has no default. Then: a state or gradients of another extent, lars without a rate,
// and a line search, which would need the loss.
TEST(Optimizers, EmptyParametersAndWrongState) {
  const Tensor none = f32(Shape{0}, {});
  for (const OpDef* op : builtin_ops().list()) {
    const bool has_grads = op->inputs.size() > 2 && op->inputs[1].name == "grads";
    if (!op->id.starts_with("train.optimizer.") || !has_grads) continue;
    const auto outputs = run_op(op->id, {none, none}, {{"lr", 0.1}});
    ASSERT_TRUE(outputs) << op->id << ": " << outputs.error().message;
    EXPECT_EQ(outputs->front().shape(), (Shape{0}));
  }
  const Tensor p = f32(Shape{2}, {1, 2});
  EXPECT_FALSE(run_op("train.optimizer.sgd", {p, p, f32(Shape{3}, {1, 2, 3})}));
  EXPECT_FALSE(run_op("train.optimizer.sgd", {p, f32(Shape{1}, {1})}));
  EXPECT_FALSE(run_op("train.optimizer.lars", {p, p}));  // lr must be given
  EXPECT_FALSE(run_op("train.optimizer.lbfgs", {p, p}, {{"line_search", true}}));
}

// Counts that promise pairs that are not there.
// 3 steps and 2 pairs are claimed while both history ports are absent.
TEST(Lbfgs, RefusesCountsWithoutHistory) {
  const Tensor p = f32(Shape{2}, {1, 2});
  const Tensor counts = tensor_of<int64_t>(DType::kI64, Shape{2}, {3, 2});
  const auto bad =
      run_op("train.optimizer.lbfgs", {p, p, Tensor(), Tensor(), Tensor(), Tensor(), counts});
  EXPECT_FALSE(bad);
}

// The oldest goes first.
// Five steps from 8 halve five times; of four pairs a history of two keeps two, and says so.
TEST(Lbfgs, KeepsTheNewestPairs) {
  // f = x^2 / 2: the gradient is x, so each step of length 0.5 halves it.
  Tensor p = f64(Shape{1}, {8});
  std::vector<Tensor> state(5);
  for (int step = 0; step < 5; ++step) {
    std::vector<Tensor> inputs = {p, p};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const auto outputs =
        run_op("train.optimizer.lbfgs", inputs, {{"lr", 0.5}, {"hist_size", int64_t{2}}});
    ASSERT_TRUE(outputs) << outputs.error().message;
    p = outputs->front();
    state.assign(outputs->begin() + 1, outputs->end());
  }
  EXPECT_EQ(values_of<double>(p), (std::vector<double>{0.25}));
  EXPECT_EQ(values_of<int64_t>(state[4]), (std::vector<int64_t>{5, 2}));
}

// A short matrix is left alone.
// Without decay and activity only the cap acts: (3, 4) has length 5, and 2.5 is half of it. The
// rule bcm needs a port that is not given.
TEST(Hebbian, MaxNormOnlyShrinks) {
  const Tensor w = f32(Shape{1, 2}, {3, 4}), pre = f32(Shape{2}, {0, 0}), post = f32(Shape{1}, {0});
  const auto run = [&](double max_norm) {
    return values_of<float>(run_one("train.optimizer.hebbian", {w, pre, post},
                                    {{"decay", 0.0}, {"max_norm", max_norm}}));
  };
  EXPECT_EQ(run(10), (std::vector<float>{3, 4}));
  EXPECT_EQ(run(2.5), (std::vector<float>{1.5, 2}));
  EXPECT_FALSE(run_op("train.optimizer.hebbian", {w, pre, post}, {{"rule", std::string("bcm")}}));
}

// A count from outside: adam's correction divides by 1 - beta^step, and 2^63 - 1 has no successor.
TEST(Optimizers, RefuseCountsThatAreNoStep) {
  const Tensor p = f32(Shape{1}, {1});
  const auto with_step = [&](int64_t step) {
    return run_op("train.optimizer.adam",
                  {p, p, Tensor(), Tensor(), tensor_of<int64_t>(DType::kI64, Shape{}, {step})});
  };
  for (const int64_t step : {int64_t{-1}, INT64_MIN, INT64_MAX}) {
    const auto refused = with_step(step);
    ASSERT_FALSE(refused) << step;
    EXPECT_NE(refused.error().message.find("Port 'step' is " + std::to_string(step)),
              std::string::npos)
        << refused.error().message;
  }
  EXPECT_TRUE(with_step(INT64_MAX - 1));
}

// 2^63 - 1 steps would overflow the count that comes out.
TEST(Lbfgs, RefusesCountsOfStepsThatCannotGrow) {
  const Tensor p = f32(Shape{2}, {1, 2});
  for (const int64_t steps : {int64_t{-1}, INT64_MAX}) {
    const Tensor counts = tensor_of<int64_t>(DType::kI64, Shape{2}, {steps, 0});
    EXPECT_FALSE(
        run_op("train.optimizer.lbfgs", {p, p, Tensor(), Tensor(), Tensor(), Tensor(), counts}))
        << steps;
  }
}

}  // namespace
}  // namespace quern::test
