// Faults put into small graphs: the comparison names the node, and nothing where nothing is wrong.
#include "runtime/graph_comparison.h"

#include <gtest/gtest.h>

#include "backends/cpu/backend.h"
#include "backends/reference/backend.h"
#include "quern/op.h"
#include "support/faulty_backend.h"

namespace quern {
namespace {

using test::change_attribute;
using test::FaultyOptions;
using test::GraphFault;

// A chain with a fork: a -> b -> (c, d) -> e.
constexpr const char* kChain = R"(graph {
  %x = Input() {type = "f32[T, 4]"} : f32[T, 4]
  %a = math.scale(%x) {factor = 2.0} : f32[T, 4]
  %b = math.exp(%a) : f32[T, 4]
  %c = math.scale(%b) {factor = 3.0} : f32[T, 4]
  %d = math.rmsnorm(%b) {eps = 1e-05} : f32[T, 4]
  %e = math.add(%c, %d) : f32[T, 4]
  output y = %e
}
)";

// The reference against a CPU that a test may damage.
class GraphComparisonTest : public testing::Test {
 protected:
  Result<GraphComparison> compare(FaultyOptions fault, const ComparisonOptions& options = {}) {
    const auto faulty = test::make_faulty_backend(make_cpu_backend(), std::move(fault));
    const auto reference = make_reference_backend();
    auto device = faulty->open({.num_threads = 1});
    auto against = reference->open({});
    EXPECT_TRUE(device && against);
    return compare_graph(graph_, nullptr, {faulty.get(), device->get()},
                         {reference.get(), against->get()}, runs_, options);
  }
  // The node that a comparison blames, "none", or the error.
  std::string culprit(FaultyOptions fault, const ComparisonOptions& options = {}) {
    const auto made = compare(std::move(fault), options);
    if (!made) return made.error().message;
    return made->first ? graph_.node(made->first->node).name : "none";
  }
  static ComparedRun run_of(std::string name, const std::vector<float>& values) {
    ComparedRun run{.name = std::move(name), .inputs = {}, .num_rows = 0};
    const Shape shape{static_cast<int64_t>(values.size()) / 4, 4};
    run.inputs["x"] = *Tensor::from<float>(DType::kF32, shape, values);
    return run;
  }

  const Graph graph_ = *parse_graph(kChain, builtin_ops());
  std::vector<ComparedRun> runs_ = {run_of("one row", {1, 2, 3, 4}),
                                    run_of("two rows", {-1, 0, 0.5, 2, 3, 1, 1, 1})};
};

// All values of all nodes, in both runs.
TEST_F(GraphComparisonTest, SoundDevicesAgree) {
  const auto made = compare({});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->first);
  EXPECT_EQ(made->num_values, 5);
  EXPECT_EQ(made->num_divergent, 0);
  EXPECT_EQ(made->worst_relative, 0);
}

// Not those that read its value.
TEST_F(GraphComparisonTest, TheFirstWrongNodeIsBlamed) {
  EXPECT_EQ(culprit({.fault = change_attribute("a", "factor", 2.5)}), "a");
  EXPECT_EQ(culprit({.fault = change_attribute("c", "factor", 3.5)}), "c");
  EXPECT_EQ(culprit({.fault = change_attribute("d", "eps", 0.1)}), "d");
  EXPECT_EQ(culprit({.fault = change_attribute("no such node", "eps", 0.1)}), "none");
}

// What a person needs to look at it.
TEST_F(GraphComparisonTest, TheDivergenceTellsWhereAndHowMuch) {
  const auto made = compare({.fault = change_attribute("c", "factor", 3.5)});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(made->first);
  EXPECT_EQ(made->first->run, 0U);
  EXPECT_EQ(made->first->shape, (Shape{1, 4}));
  EXPECT_EQ(made->first->difference.num_different, 4);
  EXPECT_EQ(made->first->difference.worst_index, 3);  // the largest value is the farthest off
  EXPECT_NEAR(made->first->difference.max_relative, 0.5 / 3, 1e-6);
  EXPECT_EQ(made->num_divergent, 2);  // c, and e that reads it
  EXPECT_FALSE(made->first->needs_whole_graph);
  // What both computed is kept for whoever repeats it, inputs too.
  EXPECT_TRUE(made->actual.contains("c"));
  EXPECT_TRUE(made->expected.contains("b"));
  EXPECT_NE(made->actual.at("c").read().value(), made->expected.at("c").read().value());
}

// A value of zero hides a wrong factor; the second run shows it.
TEST_F(GraphComparisonTest, LaterRunsAreLookedAtToo) {
  runs_ = {run_of("zeros", {0, 0, 0, 0}), run_of("ones", {1, 1, 1, 1})};
  const auto made = compare({.fault = change_attribute("a", "factor", 2.5)});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(made->first);
  EXPECT_EQ(made->first->run, 1U);
}

// Relative to the largest value of the tensor.
TEST_F(GraphComparisonTest, TolerancesForgiveSmallDifferences) {
  const GraphFault small = change_attribute("c", "factor", 3.0003);
  EXPECT_EQ(culprit({.fault = small}), "c");
  EXPECT_EQ(culprit({.fault = small}, {.tolerance = 1e-5}), "c");
  const auto forgiven = compare({.fault = small}, {.tolerance = 1e-3});
  ASSERT_TRUE(forgiven) << forgiven.error().message;
  EXPECT_FALSE(forgiven->first);
  EXPECT_NEAR(forgiven->worst_relative, 1e-4, 2e-5);
}

// Wrong only as long as nobody looks at single values: what a bad fusion does.
TEST_F(GraphComparisonTest, FaultsOfTheWholeGraphAreNarrowedDown) {
  const GraphFault hidden = [](const Graph& graph, const CompileOptions& options) -> Result<Graph> {
    if (options.readable.size() > 1) return graph;
    return change_attribute("b2", "factor", 1.0)(
        *change_attribute("c", "factor", 3.5)(graph, options), options);
  };
  const auto made = compare({.fault = hidden});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(made->first);
  EXPECT_TRUE(made->first->needs_whole_graph);
  EXPECT_EQ(graph_.node(made->first->node).name, "c");
}

// Gone as soon as any value is kept: only the outputs are left to blame.
TEST_F(GraphComparisonTest, FaultsThatHideAreSeenInTheOutputs) {
  const GraphFault shy = [](const Graph& graph, const CompileOptions& options) -> Result<Graph> {
    if (!options.readable.empty()) return graph;
    return change_attribute("a", "factor", 2.5)(graph, options);
  };
  const auto made = compare({.fault = shy});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(made->first);
  EXPECT_TRUE(made->first->needs_whole_graph);
  EXPECT_EQ(graph_.node(made->first->node).name, "e");
}

// A bar that stops at two thirds looks like a hang.
TEST_F(GraphComparisonTest, ProgressEndsAtItsTotal) {
  std::vector<std::pair<int64_t, int64_t>> told;
  ASSERT_TRUE(compare(
      {}, {.progress = [&](int64_t done, int64_t total) { told.emplace_back(done, total); }}));
  ASSERT_FALSE(told.empty());
  for (const auto& [done, total] : told) EXPECT_LE(done, total);
  EXPECT_EQ(told.back().first, told.back().second);
}

// There are two of each.
TEST_F(GraphComparisonTest, ErrorsNameTheDeviceAndTheRun) {
  const GraphFault refuses = [](const Graph&, const CompileOptions&) -> Result<Graph> {
    return tl::unexpected(Error{ErrorCode::kUnimplemented, "No."});
  };
  EXPECT_EQ(culprit({.fault = refuses}), "faulty: No.");
  runs_[1].inputs.clear();
  const std::string missing = culprit({});
  EXPECT_TRUE(missing.starts_with("reference, two rows: ")) << missing;
}

// Nothing was computed.
TEST_F(GraphComparisonTest, WithoutRunsNothingDiffers) {
  runs_.clear();
  EXPECT_EQ(culprit({.fault = change_attribute("a", "factor", 2.5)}), "none");
}

}  // namespace
}  // namespace quern
