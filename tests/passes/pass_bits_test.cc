// No pass may change a bit in strict numerics: random graphs with all passes, without any, and with
// each alone, on the reference backend and on cpu.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>

#include "passes/pipeline.h"
#include "passes/random_graph.h"
#include "quern/op.h"
#include "support/graph_runner.h"
#include "support/random_inputs.h"

namespace quern::test {
namespace {

// Graphs that run; some refuse their random values.
constexpr uint64_t kNumGraphs = 1000;
// A report holds a whole graph.
constexpr size_t kMaxReports = 3;

// A way to compile and run.
struct Setting {
  std::string name;
  PassSelection passes;
};

// An empty list would be all passes, so it names one that changes nothing.
PassSelection no_optional_passes() {
  return {.only = {"verify"}, .off = {}};
}

std::vector<Setting> settings() {
  std::vector<Setting> made = {{"all passes", {}}, {"no passes", no_optional_passes()}};
  for (const Pass& pass : default_pipeline()) {
    if (!pass.why_required.empty()) continue;
    made.push_back(
        {fmt::format("{} alone", pass.name), {.only = {std::string(pass.name)}, .off = {}}});
  }
  made.push_back({"no memory plan", {.only = {}, .off = {std::string(kPlanMemory)}}});
  return made;
}

// A backend with a device that all graphs share.
struct Place {
  const Backend* backend;
  std::unique_ptr<Device> device;
};

class PassBits : public testing::Test {
 protected:
  void SetUp() override {
    reference_ = place("reference", {});
    // Two threads, one without vectors, and the narrower vectors: three sets of kernels.
    cpus_.push_back(place("cpu", {.num_threads = 2, .isa = ""}));
    cpus_.push_back(place("cpu", {.num_threads = 1, .isa = "scalar"}));
    cpus_.push_back(place("cpu", {.num_threads = 2, .isa = "avx2"}));
  }

  Place place(std::string_view name, const DeviceOptions& options) {
    const Backend* backend = *registry_.find(name);
    auto device = backend->open(options);
    // A machine without that instruction set has another one.
    if (!device) device = backend->open({.num_threads = 2, .isa = ""});
    return {backend, std::move(*device)};
  }

  static Result<RunResult> run(const Place& place, const Graph& graph, const PassSelection& passes,
                               const GraphInputs& inputs) {
    QUERN_ASSIGN_OR_RETURN(const auto executable,
                           compile_and_load(graph, *place.backend, *place.device, &inputs.weights,
                                            {.passes = passes}));
    // Any but the default, which a pass could bake in unseen.
    return executable->run({.inputs = inputs.tensors, .states = {}, .stream = 3});
  }

  // The fused nodes of cpu with their reference kernels.
  Result<RunResult> run_fused_on_reference(const Graph& graph, const GraphInputs& inputs) {
    const Backend* cpu = cpus_[0].backend;
    const PassOptions options{.fusions = cpu->fusions()};
    QUERN_ASSIGN_OR_RETURN(const Graph fused, run_passes(graph, default_pipeline(), options));
    for (const Node& node : fused.nodes()) {
      if (node.op->id.starts_with("fused.")) ++num_fused_;
    }
    return run(reference_, fused, no_optional_passes(), inputs);
  }

  void expect_bits(const Result<RunResult>& actual, const RunResult& expected, uint64_t seed,
                   const std::string& where, const Graph& graph) {
    if (num_reports_ >= kMaxReports) return;
    const auto same = actual ? same_result_bits(*actual, expected)
                             : testing::AssertionFailure() << actual.error().message;
    if (same) return;
    ++num_reports_;
    ADD_FAILURE() << "seed " << seed << ", " << where << ": " << same.message() << "\n"
                  << print_graph(graph);
  }

  BackendRegistry registry_ = register_backends();
  Place reference_;
  std::vector<Place> cpus_;
  size_t num_reports_ = 0;
  size_t num_fused_ = 0;
};

TEST_F(PassBits, ARandomGraphDependsOnItsSeedAlone) {
  EXPECT_EQ(print_graph(random_graph(7)), print_graph(random_graph(7)));
  EXPECT_NE(print_graph(random_graph(7)), print_graph(random_graph(8)));
}

TEST_F(PassBits, RandomGraphsKeepTheirBits) {
  const std::vector<Setting> all = settings();
  size_t num_compared = 0;
  std::set<std::string> operations;
  for (uint64_t seed = 0; num_compared < kNumGraphs && num_reports_ < kMaxReports; ++seed) {
    // At least half must run.
    ASSERT_LT(seed, 2 * kNumGraphs) << "Too many of the graphs do not run at all.";
    const Graph graph = random_graph(seed);
    SymbolValues symbols;
    symbols.set('T', random_extent(seed));
    std::mt19937 random(static_cast<uint32_t>(seed));
    // About every seventh float is a zero, denormal, infinity, NaN or of extreme size.
    const GraphInputs inputs = random_inputs(graph, random, 7, symbols);
    // What the graph means: the reference, node by node as written.
    const auto expected = run(reference_, graph, no_optional_passes(), inputs);
    // An operation may refuse its values, e.g. the largest of no elements.
    if (!expected) continue;
    ++num_compared;
    for (const Node& node : graph.nodes()) operations.insert(node.op->id);
    // One of them for each graph: all three would take three times as long.
    const Place& cpu = cpus_[seed % cpus_.size()];
    expect_bits(run_fused_on_reference(graph, inputs), *expected, seed, "reference, fused", graph);
    for (const Setting& setting : all) {
      expect_bits(run(reference_, graph, setting.passes, inputs), *expected, seed,
                  "reference, " + setting.name, graph);
      expect_bits(run(cpu, graph, setting.passes, inputs), *expected, seed,
                  "cpu " + cpu.device->capabilities().arch + ", " + setting.name, graph);
    }
  }
  fmt::print("{} graphs of {} operations, {} fused nodes\n", num_compared, operations.size(),
             num_fused_);
  // The graphs really hold most operations, and passes really fuse: else equal bits say little.
  EXPECT_GT(operations.size(), 100u);
  EXPECT_GT(num_fused_, kNumGraphs);
}

}  // namespace
}  // namespace quern::test
