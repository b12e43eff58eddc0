// Graphs with a state, run step by step on stores of their own.
#include "conformance/kv_check.h"

#include <fmt/format.h>

#include <array>

#include "base/fail.h"
#include "conformance/case_values.h"
#include "conformance/host_values.h"
#include "quern/graph_builder.h"

namespace quern {
namespace {

// Two cached heads that three query heads each share, in the second of two layers: all strides
// differ.
constexpr int64_t kHeads = 2, kGroup = 3, kLayers = 2;

// One kind of cache and one way to attend to it.
struct Scenario {
  std::string_view cache_type;
  int64_t head_dim;
  Attributes attention;
  bool has_sinks = false;
  bool moves_keys = false;  // keeps unrotated keys, reads them and writes scaled ones
};

// For reports.
std::string describe(const Scenario& scenario) {
  std::string text = fmt::format("cache {}, head {}", scenario.cache_type, scenario.head_dim);
  for (const auto& [name, value] : scenario.attention) {
    if (name != "layer") text += fmt::format(", {} {}", name, attribute_to_string(value));
  }
  return text + (scenario.has_sinks ? ", sinks" : "") +
         (scenario.moves_keys ? ", unrotated keys" : "");
}

// (sequence, position) of each token of a run.
using Tokens = std::vector<std::pair<int32_t, int32_t>>;

// `count` tokens of one sequence in a row.
Tokens tokens_from(int32_t sequence, int32_t first, int32_t count) {
  Tokens tokens;
  for (int32_t i = 0; i < count; ++i) tokens.emplace_back(sequence, first + i);
  return tokens;
}

// Prefill of one sequence, of the other, decoding of both at once, a long chunk.
std::vector<Tokens> schedule() {
  // Sequences of different lengths in one store.
  std::vector<Tokens> runs = {tokens_from(0, 0, 5), tokens_from(1, 0, 1)};
  runs.push_back({{1, 1}, {0, 5}});
  // More than two chunks of 64 keys, from a position in the middle of one.
  runs.push_back(tokens_from(0, 6, 131));
  // Both sequences in one run, one of them with two tokens.
  runs.push_back({{0, 137}, {1, 2}, {1, 3}});
  return runs;
}

// Appends, optionally moves the keys, then attends.
Result<CaseGraph> scenario_graph(const Scenario& scenario) {
  GraphBuilder b(builtin_ops());
  b.state({"kv",
           "kv",
           // Keys and values of one width and one type.
           {{"layers", kLayers},
            {"heads", kHeads},
            {"key_dim", scenario.head_dim},
            {"value_dim", scenario.head_dim},
            {"key_type", std::string(scenario.cache_type)},
            {"value_type", std::string(scenario.cache_type)},
            {"keeps_unrotated", scenario.moves_keys}}});
  const Dim tokens = Dim::symbolic('T');
  const auto rows = [&](int64_t heads) {
    return TensorType{DType::kF32,
                      {tokens, Dim::constant(heads), Dim::constant(scenario.head_dim)}};
  };
  const ValueId q = b.input("q", rows(kHeads * kGroup));
  const ValueId k = b.input("k", rows(kHeads)), v = b.input("v", rows(kHeads));
  const ValueId positions = b.input("positions", {DType::kI32, {tokens}});
  const ValueId sequences = b.input("sequences", {DType::kI32, {tokens}});
  ValueId sinks = kNoValue;
  if (scenario.has_sinks) {
    sinks = b.input("sinks", {DType::kF32, {Dim::constant(kHeads * kGroup)}});
  }
  // The second layer: its rows lie behind those of the first.
  const Attributes layer = {{"layer", int64_t{1}}};
  b.add("kv.append", {k, v, positions, sequences}, layer);
  if (scenario.moves_keys) {
    // As an evicting model does: the kept keys are read, changed and written back.
    b.add("kv.keep_unrotated", {k, positions, sequences}, layer);
    const ValueId kept = b.add("kv.read_unrotated", {positions, sequences}, layer);
    b.output("kept", kept);
    b.add("kv.write_keys", {b.add("math.scale", {kept}, {{"factor", 0.5}}), positions, sequences},
          layer);
  }
  b.output("out", b.add("attention.cached", {q, positions, sequences, sinks}, scenario.attention));
  CaseGraph made;
  QUERN_ASSIGN_OR_RETURN(made.graph, b.finish());
  return made;
}

// Normal numbers [tokens, heads, head_dim].
Result<Tensor> random_rows(const Scenario& scenario, size_t tokens, int64_t heads,
                           CaseRandom& random) {
  QUERN_ASSIGN_OR_RETURN(const Shape shape, Shape::make(std::array{static_cast<int64_t>(tokens),
                                                                   heads, scenario.head_dim}));
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (double& value : values) value = random.normal();
  return tensor_of_numbers(DType::kF32, shape, values);
}

// Positions or sequences of the tokens.
Result<Tensor> integers(const Tokens& tokens, bool are_positions) {
  std::vector<int32_t> values;
  for (const auto& [sequence, position] : tokens) {
    values.push_back(are_positions ? position : sequence);
  }
  return Tensor::from<int32_t>(DType::kI32, Shape{static_cast<int64_t>(values.size())}, values);
}

// Inputs of one run; the sequences are numbered as every fresh store numbers them.
Result<std::map<std::string, Tensor, std::less<>>> run_inputs(const Scenario& scenario,
                                                              const Tokens& tokens, uint64_t seed) {
  CaseRandom random(seed);
  std::map<std::string, Tensor, std::less<>> inputs;
  QUERN_ASSIGN_OR_RETURN(inputs["q"],
                         random_rows(scenario, tokens.size(), kHeads * kGroup, random));
  QUERN_ASSIGN_OR_RETURN(inputs["k"], random_rows(scenario, tokens.size(), kHeads, random));
  QUERN_ASSIGN_OR_RETURN(inputs["v"], random_rows(scenario, tokens.size(), kHeads, random));
  QUERN_ASSIGN_OR_RETURN(inputs["positions"], integers(tokens, true));
  QUERN_ASSIGN_OR_RETURN(inputs["sequences"], integers(tokens, false));
  if (scenario.has_sinks) {
    std::vector<double> sinks(static_cast<size_t>(kHeads * kGroup));
    for (double& sink : sinks) sink = random.normal();
    QUERN_ASSIGN_OR_RETURN(inputs["sinks"],
                           tensor_of_numbers(DType::kF32, Shape{kHeads * kGroup}, sinks));
  }
  return inputs;
}

// The outcome of every run of the schedule, then of one with an unknown sequence.
Result<std::vector<Result<Outcome>>> run_schedule(const Backend& backend, Device& device,
                                                  const Scenario& scenario, const CaseGraph& graph,
                                                  uint64_t seed) {
  QUERN_ASSIGN_OR_RETURN(Subject subject, Subject::load(backend, device, graph));
  QUERN_ASSIGN_OR_RETURN(const auto store, device.make_kv_store(graph.graph.states()[0]));
  for (int i = 0; i < 2; ++i) {
    QUERN_ASSIGN_OR_RETURN(const int32_t sequence, store->create_sequence());
    if (sequence != i) return fail::internal("A fresh store numbers a sequence {}.", sequence);
    // The longest sequence has 138 rows.
    QUERN_TRY(store->reserve(sequence, 256));
  }
  std::vector<Result<Outcome>> outcomes;
  auto runs = schedule();
  // A sequence that nobody made must be refused, with the reference's code.
  runs.push_back({{7, 0}});
  for (const Tokens& tokens : runs) {
    QUERN_ASSIGN_OR_RETURN(const auto inputs, run_inputs(scenario, tokens, ++seed));
    outcomes.push_back(subject.run(inputs, true, {{"kv", store.get()}}));
  }
  return outcomes;
}

// The reports of all operations that a scenario runs; a failure counts against each of them,
// since the outputs do not tell which one was wrong.
struct Reports {
  std::vector<OpReport*> all;

  void add(Claim claim, const std::string& where, const std::string& detail) const {
    for (OpReport* report : all) record(*report, claim, where, detail);
  }
};

Reports reports_of(const Scenario& scenario,
                   const std::function<OpReport*(std::string_view)>& report_of) {
  Reports reports;
  std::vector<std::string_view> ids = {"kv.append", "attention.cached"};
  // What such a scenario adds; the others are in every scenario.
  if (scenario.moves_keys) ids = {"kv.keep_unrotated", "kv.read_unrotated", "kv.write_keys"};
  for (const std::string_view id : ids) {
    if (OpReport* report = report_of(id)) reports.all.push_back(report);
  }
  return reports;
}

// The whole schedule on the reference and on each device, compared run by run.
Result<void> check_scenario(TestBench& bench, const Scenario& scenario, const Reports& reports) {
  if (reports.all.empty()) return {};
  QUERN_ASSIGN_OR_RETURN(const CaseGraph graph, scenario_graph(scenario));
  QUERN_ASSIGN_OR_RETURN(
      const auto expected,
      run_schedule(*bench.reference, *bench.reference_device, scenario, graph, bench.seed));
  for (size_t d = 0; d < bench.devices.size(); ++d) {
    const auto actual =
        run_schedule(*bench.backend, *bench.devices[d], scenario, graph, bench.seed);
    // Not served at all: the same on all devices.
    if (!actual) {
      reports.add(Claim::kResult, describe(scenario), actual.error().message);
      return {};
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string where =
          fmt::format("{}, run {}, {}", describe(scenario), i + 1, bench.device_names[d]);
      for (OpReport* report : reports.all) ++report->cases;
      // The first device shows the results, the others that threads do not matter.
      const Claim claim = !expected[i] ? Claim::kRefusal
                          : d == 0     ? Claim::kResult
                                       : Claim::kThreads;
      reports.add(claim, where,
                  result_difference(bench, *builtin_ops().find("attention.cached"), (*actual)[i],
                                    expected[i]));
      if (!(*actual)[i]) continue;
      reports.add(Claim::kGuards, where,
                  (*actual)[i]->damaged.empty() ? "" : "Bytes around the result were written.");
    }
  }
  return {};
}

}  // namespace

// Every cache type, and each option of attention once.
Result<void> check_kv_operations(TestBench& bench,
                                 const std::function<OpReport*(std::string_view)>& report_of) {
  const Attributes layer = {{"layer", int64_t{1}}};
  const auto with = [&](std::string name, AttributeValue value) {
    Attributes attributes = layer;
    attributes.set(std::move(name), std::move(value));
    return attributes;
  };
  std::vector<Scenario> scenarios;
  // Heads of 64 hold two blocks of 32.
  for (const std::string_view type : {"f32", "f16", "bf16", "q8_0", "q4_0"}) {
    scenarios.push_back({type, 64, layer});
    scenarios.push_back({type, 64, layer, false, true});
  }
  // A width that no vector of 16 floats divides.
  scenarios.push_back({"f16", 40, layer});
  // Shorter than the sequences, so that keys fall out of it.
  scenarios.push_back({"f32", 64, with("window", int64_t{7}), true});
  scenarios.push_back({"f16", 64, with("soft_cap", 5.0)});
  scenarios.push_back({"f32", 64, with("scale", 0.25), true});
  // Queries of 16 bits against keys of 8.
  scenarios.push_back({"q8_0", 64, with("query_bits", int64_t{16})});
  for (const Scenario& scenario : scenarios) {
    QUERN_TRY(check_scenario(bench, scenario, reports_of(scenario, report_of)));
  }
  return {};
}

}  // namespace quern
