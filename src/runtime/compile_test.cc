// From a graph to an executable: options that reach the passes, and what is refused by name.
#include <gtest/gtest.h>

#include "backends/cpu/backend.h"
#include "backends/reference/backend.h"
#include "quern/device.h"
#include "quern/op.h"

namespace quern {
namespace {

// The graph of a text that must parse.
Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text, builtin_ops());
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  return std::move(*graph);
}

constexpr const char* kChain = R"(graph {
  %x = Input() {type = "f32[2]"} : f32[2]
  %a = math.exp(%x) : f32[2]
  %b = activation.tanh(%a) : f32[2]
  %unused = math.exp(%b) : f32[2]
  output y = %b
}
)";

// The CPU backend and a small graph.
class CompileTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Artifact>> compile(const Graph& graph,
                                            const CompileOptions& options = {}) {
    return compile_graph(graph, *backend_, *backend_->default_caps(""), options);
  }
  std::string error(const CompileOptions& options) {
    const auto artifact = compile(graph_, options);
    return artifact ? "no error" : artifact.error().message;
  }
  const std::unique_ptr<Backend> backend_ = make_cpu_backend();
  const Graph graph_ = graph_of(kChain);
};

// Readable values are results too.
TEST_F(CompileTest, DeadNodesGoUnlessTheyAreReadable) {
  const auto plain = compile(graph_);
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ((*plain)->graph().find_value("unused"), kNoValue);
  const auto kept = compile(graph_, {.readable = {"unused"}});
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_NE((*kept)->graph().find_value("unused"), kNoValue);
}

// Misspelt options must not be ignored.
TEST_F(CompileTest, NamesThatAreNotThereAreRefused) {
  EXPECT_EQ(error({.readable = {"z"}}), "Pass verify: The graph has no value 'z' to read.");
  EXPECT_NE(error({.passes = {.only = {"polish"}, .off = {}}}).find("'polish'"), std::string::npos);
  EXPECT_NE(error({.passes = {.only = {}, .off = {"polish"}}}).find("'polish'"), std::string::npos);
  EXPECT_NE(error({.placement = {{"*", "abacus"}}}).find("abacus"), std::string::npos);
}

// Each pass begins with what the one before made.
TEST_F(CompileTest, TheObserverSeesEveryPassInItsOrder) {
  std::vector<std::string> seen;
  size_t last_after = graph_.nodes().size();
  const auto artifact = compile(graph_, {.observer = [&](const PassTrace& trace) {
                                  seen.emplace_back(trace.pass);
                                  EXPECT_EQ(trace.before.nodes().size(), last_after) << trace.pass;
                                  last_after = trace.after.nodes().size();
                                  EXPECT_GE(trace.seconds, 0);
                                }});
  ASSERT_TRUE(artifact) << artifact.error().message;
  EXPECT_GT(seen.size(), 3U);
  EXPECT_EQ((*artifact)->graph().nodes().size(), last_after);
}

// The same graph and options give the same compiled graph, however often and whatever came before.
TEST_F(CompileTest, CompilingIsDeterministic) {
  const auto text = [&] { return print_graph((*compile(graph_))->graph()); };
  const std::string first = text();
  ASSERT_TRUE(compile(graph_, {.readable = {"a"}}));
  EXPECT_EQ(text(), first);
}

// On every backend with the same words.
TEST_F(CompileTest, WeightsMustBeGiven) {
  const Graph graph = graph_of(R"(graph {
  %x = Input() {type = "f32[2]"} : f32[2]
  %w = graph.weight() {type = "f32[2]", weight = "w"} : f32[2]
  %y = math.add(%x, %w) : f32[2]
  output y = %y
}
)");
  const std::unique_ptr<Backend> reference = make_reference_backend();
  for (const Backend* backend : {static_cast<const Backend*>(backend_.get()),
                                 static_cast<const Backend*>(reference.get())}) {
    const auto device = backend->open({.num_threads = 1});
    ASSERT_TRUE(device);
    const auto executable = compile_and_load(graph, *backend, **device, nullptr, {});
    ASSERT_FALSE(executable);
    EXPECT_EQ(executable.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ(executable.error().message,
              "The graph needs the weight 'w', but no weights are given.");
  }
}

}  // namespace
}  // namespace quern
