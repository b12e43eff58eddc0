// The list of passes and the choice among them.
#include "passes/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "quern/op.h"

namespace quern {
namespace {

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text, builtin_ops());
  EXPECT_TRUE(graph.has_value()) << (graph ? "" : graph.error().message);
  return graph ? std::move(*graph) : Graph();
}

constexpr std::string_view kGraph = R"(graph {
  %x = Input() {type = "f32[T, 4]"}
  %a = Add(%x, %x)
  %b = math.add(%x, %x)
  %d = math.exp(%b)
  %z = math.mul(%a, %b)
  output z = %z
}
)";

std::vector<std::string> names_of(const std::vector<Pass>& passes) {
  std::vector<std::string> names;
  for (const Pass& pass : passes) names.emplace_back(pass.name);
  return names;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// They are options of the command line.
TEST(Pipeline, NamesAreDifferent) {
  std::set<std::string_view> names;
  for (const Pass& pass : default_pipeline()) EXPECT_TRUE(names.insert(pass.name).second);
}

// In the order of the list.
TEST(Pipeline, EveryPassRunsByDefault) {
  const auto passes = select_passes(default_pipeline(), {});
  ASSERT_TRUE(passes.has_value());
  EXPECT_EQ(passes->size(), default_pipeline().size());
}

// The others stay as they are.
TEST(Pipeline, APassCanBeLeftOut) {
  const auto passes = select_passes(default_pipeline(), {.only = {}, .off = {"simplify"}});
  ASSERT_TRUE(passes.has_value());
  EXPECT_FALSE(has(names_of(*passes), "simplify"));
  EXPECT_EQ(passes->size(), default_pipeline().size() - 1);
}

// Whatever order they are named in.
TEST(Pipeline, ChosenPassesRunWithTheRequiredOnesInTheListsOrder) {
  const auto passes =
      select_passes(default_pipeline(), {.only = {"simplify", "canonicalise"}, .off = {}});
  ASSERT_TRUE(passes.has_value());
  const auto names = names_of(*passes);
  EXPECT_TRUE(has(names, "verify"));
  EXPECT_TRUE(has(names, "lower"));
  EXPECT_FALSE(has(names, "fuse_products"));
  EXPECT_LT(std::ranges::find(names, "canonicalise"), std::ranges::find(names, "simplify"));
}

// The error says why.
TEST(Pipeline, RequiredPassesCannotBeSwitchedOff) {
  for (const Pass& pass : default_pipeline()) {
    if (pass.why_required.empty()) continue;
    const auto passes =
        select_passes(default_pipeline(), {.only = {}, .off = {std::string(pass.name)}});
    ASSERT_FALSE(passes.has_value()) << pass.name;
    EXPECT_NE(passes.error().message.find(std::string(pass.why_required)), std::string::npos);
  }
}

// A typo must not switch off nothing.
TEST(Pipeline, AnUnknownNameIsAnErrorThatListsThem) {
  const auto passes = select_passes(default_pipeline(), {.only = {}, .off = {"simplifie"}});
  ASSERT_FALSE(passes.has_value());
  EXPECT_EQ(passes.error().code, ErrorCode::kNotFound);
  EXPECT_NE(passes.error().message.find("simplify"), std::string::npos);
  EXPECT_NE(passes.error().message.find("plan_memory"), std::string::npos);
  EXPECT_FALSE(select_passes(default_pipeline(), {.only = {"nothing"}, .off = {}}).has_value());
}

// Though it runs in the backend.
TEST(Pipeline, TheMemoryPlannerIsSwitchedLikeAPass) {
  EXPECT_TRUE(is_pass_on({}, kPlanMemory));
  const PassSelection off{.only = {}, .off = {std::string(kPlanMemory)}};
  EXPECT_FALSE(is_pass_on(off, kPlanMemory));
  EXPECT_TRUE(select_passes(default_pipeline(), off).has_value());
  EXPECT_FALSE(is_pass_on({.only = {"simplify"}, .off = {}}, kPlanMemory));
}

// What `quern compile` prints.
TEST(Pipeline, TheObserverSeesEachPassWithTheGraphBeforeAndAfter) {
  const Graph graph = graph_of(kGraph);
  std::vector<std::string> seen;
  size_t last_nodes = graph.nodes().size();
  const auto observer = [&](const PassTrace& trace) {
    seen.emplace_back(trace.pass);
    EXPECT_EQ(trace.before.nodes().size(), last_nodes);
    EXPECT_GE(trace.seconds, 0);
    last_nodes = trace.after.nodes().size();
  };
  const auto after = run_passes(graph, default_pipeline(), {}, observer);
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(seen.size(), default_pipeline().size());
  EXPECT_EQ(after->nodes().size(), last_nodes);
  EXPECT_EQ(after->nodes().size(), 3u);  // x, the sum, the product
}

// A fixed point.
TEST(Pipeline, RunningTwiceChangesNothingMore) {
  const Graph graph = graph_of(kGraph);
  const auto once = run_passes(graph, default_pipeline(), {});
  ASSERT_TRUE(once.has_value());
  const auto twice = run_passes(*once, default_pipeline(), {});
  ASSERT_TRUE(twice.has_value());
  EXPECT_EQ(print_graph(*once), print_graph(*twice));
}

// And keeps the message.
TEST(Pipeline, AnErrorNamesThePass) {
  const auto after = run_passes(graph_of(kGraph), default_pipeline(), {.readable = {"nothing"}});
  ASSERT_FALSE(after.has_value());
  EXPECT_NE(after.error().message.find("Pass verify"), std::string::npos);
}

}  // namespace
}  // namespace quern
