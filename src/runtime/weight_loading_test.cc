// Tests of finding a graph's weights: type and shape must be what the graph was built for.
#include "runtime/weight_loading.h"

#include <gtest/gtest.h>

#include <map>

#include "ir/tensor_type.h"
#include "quern/graph_builder.h"
#include "support/ir_test_ops.h"

namespace quern {
namespace {

// Tensors of one element type, zeros, counted when fetched.
class CountingWeights final : public WeightSource {
 public:
  std::map<std::string, Tensor, std::less<>> tensors;
  mutable int fetched = 0;

  std::vector<WeightInfo> list() const override { return {}; }
  Result<WeightInfo> info(std::string_view name) const override {
    QUERN_ASSIGN_OR_RETURN(const Tensor tensor, weight(name));
    return WeightInfo{std::string(name), tensor.dtype(), tensor.shape()};
  }
  Result<Tensor> weight(std::string_view name) const override {
    ++fetched;
    const auto it = tensors.find(name);
    if (it != tensors.end()) return it->second;
    return tl::unexpected(Error{ErrorCode::kNotFound, "There is no '" + std::string(name) + "'."});
  }
};

// As graphs write it.
TensorType type(std::string_view text) {
  return parse_tensor_type(text).value();
}

// A source with two weights.
class WeightLoadingTest : public testing::Test {
 protected:
  WeightLoadingTest() {
    registry_.add({.id = "graph.weight",
                   .outputs = {{"w"}},
                   .attributes = {{"weight", AttributeKind::kText, {}, "", {}},
                                  {"type", AttributeKind::kText, {}, "", {}}},
                   .infer = test::declared_type});
    weights_.tensors["w"] = Tensor::zeros(DType::kQ8_0, Shape{2, 32}).value();
  }
  OpRegistry registry_ = test::ir_test_registry();
  CountingWeights weights_;
};

// Mapped, not copied.
TEST_F(WeightLoadingTest, AWeightComesAsItIs) {
  const auto tensor = load_weight("w", type("q8_0[2, 32]"), &weights_);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->host_view()->data(), weights_.tensors["w"].host_view()->data());
}

// Type and shape are the graph's.
TEST_F(WeightLoadingTest, WhatDoesNotFitIsAnError) {
  const auto error = [this](const char* name, std::string_view wanted) {
    const auto tensor = load_weight(name, type(wanted), &weights_);
    return tensor ? "no error" : tensor.error().message;
  };
  EXPECT_EQ(error("w", "f32[2, 32]"), "Weight 'w' is q8_0[2, 32]; the graph needs f32[2, 32].");
  EXPECT_EQ(error("w", "q8_0[1, 64]"), "Weight 'w' is q8_0[2, 32]; the graph needs q8_0[1, 64].");
  EXPECT_EQ(error("v", "f32[2]"), "There is no 'v'.");
  EXPECT_EQ(error("w", "q8_0[T, 32]"), "Symbol T has no value yet.");
  const auto without = load_weight("w", type("f32[2]"), nullptr);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(without.error().message, "The graph needs the weight 'w', but no weights are given.");
}

// Other values have no tensor.
TEST_F(WeightLoadingTest, AGraphGetsItsWeightsByValue) {
  GraphBuilder builder(registry_);
  const ValueId x = builder.input("x", type("f32[2]"));
  const ValueId w = builder.weight("w", type("q8_0[2, 32]"));
  builder.output("y", builder.add("test.scale", {x}));
  const Graph graph = builder.finish().value();
  std::vector<std::pair<int64_t, int64_t>> told;
  const auto loaded = load_weights(
      graph, &weights_, [&](int64_t done, int64_t total) { told.emplace_back(done, total); });
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->size(), graph.values().size());
  EXPECT_TRUE((*loaded)[static_cast<size_t>(x)].is_empty());
  EXPECT_EQ((*loaded)[static_cast<size_t>(w)].dtype(), DType::kQ8_0);
  EXPECT_EQ(told, (std::vector<std::pair<int64_t, int64_t>>{{2, 3}}));
  EXPECT_EQ(weights_.fetched, 1);
}

// Null is allowed then.
TEST_F(WeightLoadingTest, AGraphWithoutWeightsNeedsNoSource) {
  GraphBuilder builder(registry_);
  builder.output("y", builder.input("x", type("f32[2]")));
  EXPECT_TRUE(load_weights(builder.finish().value(), nullptr, {}));
}

}  // namespace
}  // namespace quern
