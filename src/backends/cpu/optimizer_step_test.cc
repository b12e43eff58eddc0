// Optimisers in one pass: the bits of the reference over steps, states, dtypes, sizes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "quern/op.h"
#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::random_tensor;

struct Optimizer {
  const char* name;
  Attributes attributes;
  std::vector<bool> is_positive_state;  // one for each state: squares are not negative
};

// Decay, Nesterov, centring and the like are on in some rows; two rows of one optimiser take its
// two paths.
const Optimizer kOptimizers[] = {
    {"adam", {{"wd", 0.1}}, {false, true}},
    {"adamw", {{"lr", 0.01}}, {false, true}},
    {"adamax", {{"wd", 0.01}}, {false, true}},
    {"lion", {{"wd", 0.1}}, {false}},
    {"sgd", {{"wd", 0.1}, {"nesterov", true}}, {false}},
    {"sgd", {{"momentum", 0.0}}, {false}},
    {"rmsprop", {{"centered", true}, {"momentum", 0.5}}, {true, false, false}},
    {"rmsprop", {{"wd", 0.1}}, {true, false, false}},
    {"adagrad", {{"lr_decay", 0.5}}, {true}},
    {"adadelta", {{"wd", 0.1}}, {true, true}},
    {"lamb", {}, {false, true}},
    {"lars", {{"lr", 0.1}}, {false}},
};

Tensor magnitudes(const Tensor& x) {
  if (x.dtype() == DType::kF64) {
    auto values = *x.read_as<double>();
    for (double& v : values) v = std::abs(v);
    return *Tensor::from<double>(x.dtype(), x.shape(), values);
  }
  auto values = *x.read_as<float>();
  for (float& v : values) v = std::abs(v);
  return *Tensor::from<float>(x.dtype(), x.shape(), values);
}

TEST(OptimizerStep, HasTheBitsOfTheReference) {
  std::mt19937 random(8);
  for (const Optimizer& optimizer : kOptimizers) {
    const std::string id = fmt::format("train.optimizer.{}", optimizer.name);
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
      // On both sides of the pieces that narrow types are converted in.
      for (const int64_t n : {0, 1, 17, 1025, 5000}) {
        SCOPED_TRACE(fmt::format("{} {}[{}]", id, dtype_name(dtype), n));
        const Shape shape{n};
        std::vector<Tensor> inputs = {random_tensor(dtype, shape, random),
                                      random_tensor(dtype, shape, random)};
        // First without states: the first step, where they begin at zero.
        expect_reference_bits(id, inputs, optimizer.attributes);
        const DType state = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
        for (const bool is_positive : optimizer.is_positive_state) {
          const Tensor made = random_tensor(state, shape, random);
          inputs.push_back(is_positive ? magnitudes(made) : made);
        }
        // The step counter: bias corrections of Adam and relatives depend on it.
        inputs.push_back(*Tensor::from<int64_t>(DType::kI64, Shape{}, std::vector<int64_t>{6}));
        expect_reference_bits(id, inputs, optimizer.attributes);
      }
    }
  }
}

}  // namespace
}  // namespace quern
