// Groups, families and predictions of explanations, against sums made by hand.
#include "runtime/explain.h"

#include <gtest/gtest.h>

#include "quern/op.h"

namespace quern {
namespace {

// All layers of a model are one line in a summary.
TEST(GroupOf, NumbersAreLeftOut) {
  const std::pair<const char*, const char*> cases[] = {
      {"blk.12.ffn_down", "blk.*.ffn_down"},
      {"blk.0", "blk.*"},
      {"7", "*"},
      {"7.8", "*.*"},
      {"h1", "h1"},  // a number inside a word names it
      {"1h", "1h"},
      {"a..b", "a..b"},
      {"a.1.", "a.*."},
      {".1", ".*"},
      {"x-3/y_4", "x-*/y_*"},
      {"", ""},
      {"token_embd", "token_embd"},
      {"lora.0/blk.1.attn_q.weight.lora_low", "lora.*/blk.*.attn_q.weight.lora_low"},
  };
  for (const auto& [name, group] : cases) EXPECT_EQ(group_of(name), group) << name;
}

// One sample of each family.
TEST(FamilyOf, EveryOperationHasOne) {
  const std::pair<const char*, const char*> cases[] = {
      {"projection.linear", "products"},
      {"math.matmul", "products"},
      {"experts.linear", "products"},
      {"attention.cached", "attention"},
      {"kv.append", "attention"},
      {"math.rmsnorm", "norms and quantisation"},
      {"quant.dynamic", "norms and quantisation"},
      {"embedding.token", "moves"},
      {"shape.reshape", "moves"},
      {"positional.rope_at", "positions"},
      {"math.add", "elementwise"},
      {"activation.tanh", "elementwise"},
      {"sort.top_k", "other"},
  };
  for (const auto& [id, family] : cases) {
    const OpDef* op = builtin_ops().find(id);
    ASSERT_NE(op, nullptr) << id;
    EXPECT_EQ(family_of(*op), family) << id;
  }
}

// A backend that compiles to the graph itself and runs nothing.
class PaperArtifact final : public Artifact {
 public:
  explicit PaperArtifact(const Graph& graph) : graph_(graph) {}
  const Graph& graph() const override { return graph_; }

 private:
  const Graph& graph_;
};

// Two additions on a device with round numbers.
class ExplainTest : public testing::Test {
 protected:
  ExplainTest() : registry_(register_backends()) {
    const auto backend = registry_.find("reference");
    EXPECT_TRUE(backend);
    backend_ = *backend;
  }
  Result<Explanation> explain_run(int64_t tokens, std::span<const double> measured = {}) {
    CostContext context;
    if (tokens >= 0) context.symbols.set('T', tokens);
    return explain(PaperArtifact(graph_), *backend_,
                   backend_->default_caps("").value_or(Capabilities{}), roof_, context, measured);
  }

  BackendRegistry registry_;
  const Backend* backend_ = nullptr;
  // 8 additions and 96 bytes for each token.
  const Graph graph_ = *parse_graph(R"(graph {
  %x = Input() {type = "f32[T, 8]"} : f32[T, 8]
  %z = Input() {type = "f32[T, 8]"} : f32[T, 8]
  %blk.0.sum = math.add(%x, %z) : f32[T, 8]
  %blk.1.sum = math.add(%blk.0.sum, %x) : f32[T, 8]
  output y = %blk.1.sum
}
)",
                                    builtin_ops());
  DeviceRoof roof_ = {.bytes_per_second = 96,
                      .flops_per_second = 8000,
                      .int_ops_per_second = 1,
                      .step_seconds = 0.5};
};

// Rates are chosen so that the sums are whole numbers.
TEST_F(ExplainTest, PredictionsAreTrafficPlusTheStart) {
  const auto made = explain_run(4);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->nodes.size(), 2U);  // inputs take no time
  const ExplainedNode& first = made->nodes[0];
  EXPECT_EQ(first.name, "blk.0.sum");
  EXPECT_EQ(first.group, "blk.*.sum");
  EXPECT_EQ(first.device, "reference");
  EXPECT_EQ(first.cost.bytes(), 4 * 96);
  EXPECT_EQ(first.cost.flops, 4 * 8);
  EXPECT_EQ(first.bound, "memory");
  EXPECT_EQ(first.roof_seconds, 4);
  EXPECT_EQ(first.predicted_seconds, 4.5);
  EXPECT_EQ(first.seconds(), 4.5);
  EXPECT_EQ(made->roof_seconds, 8);
  EXPECT_EQ(made->predicted_seconds, 9);
  EXPECT_EQ(made->total.flops, 64);
  EXPECT_LT(made->measured_seconds, 0);
  EXPECT_FALSE(first.kernel.empty());
}

// The same node with other roofs.
TEST_F(ExplainTest, WhatLimitsANodeIsNamed) {
  roof_.flops_per_second = 1;
  EXPECT_EQ(explain_run(4)->nodes[0].bound, "arithmetic");
  EXPECT_EQ(explain_run(4)->nodes[0].roof_seconds, 32);
  roof_.step_seconds = 100;
  EXPECT_EQ(explain_run(4)->nodes[0].bound, "dispatch");
  roof_ = {};  // a device that cannot tell
  EXPECT_EQ(explain_run(4)->nodes[0].roof_seconds, 0);
  EXPECT_EQ(explain_run(4)->nodes[0].roof_share(), 0);
}

// A negative time is that of a node that did not run.
TEST_F(ExplainTest, MeasuredTimesStandBesidePredictions) {
  const std::vector<double> measured = {-1, -1, 8, -1};
  const auto made = explain_run(4, measured);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->nodes[0].seconds(), 8);
  EXPECT_EQ(made->nodes[0].roof_share(), 0.5);
  EXPECT_EQ(made->nodes[1].seconds(), 4.5);  // it did not run
  EXPECT_EQ(made->measured_seconds, 8);
}

// Costs are those of one size.
TEST_F(ExplainTest, SymbolsNeedValues) {
  const auto unbound = explain_run(-1);
  ASSERT_FALSE(unbound);
  EXPECT_NE(unbound.error().message.find('T'), std::string::npos) << unbound.error().message;
  EXPECT_EQ(explain_run(0)->total.flops, 0);
}

}  // namespace
}  // namespace quern
