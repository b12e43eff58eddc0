// Two devices side by side, run by run.
// Keeping every value hides faults of fusion: the graph is then searched by halving, with one value
// kept at a time.
#include "runtime/graph_comparison.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/fail.h"
#include "quern/op.h"

namespace quern {
namespace {

// Whether a node computes: inputs, weights and constants are the same everywhere.
bool is_computed(const Node& node) {
  return node.op->id != "Input" && node.op->id != "graph.weight" && node.op->id != "graph.constant";
}

// Names of what can be compared.
std::vector<std::string> computed_values(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& value : graph.values()) {
    if (is_computed(graph.node(value.producer))) names.push_back(value.name);
  }
  return names;
}

using Values = std::map<std::string, Tensor, std::less<>>;

// A graph on one device with states of its own.
class Side {
 public:
  // Errors begin with the device's name.
  static Result<Side> load(const Graph& graph, const WeightSource* weights,
                           const ComparedDevice& where, Numerics numerics,
                           std::vector<std::string> readable) {
    Side side;
    side.name_ = where.backend->name();
    const CompileOptions options{.numerics = numerics, .readable = std::move(readable)};
    auto executable = compile_and_load(graph, *where.backend, *where.device, weights, options);
    // With two devices in play, an error without a name would be of no use.
    if (!executable) return tl::unexpected(executable.error().with_context(side.name_));
    side.executable_ = std::move(*executable);
    for (const StateDecl& state : graph.states()) {
      // Stores of its own: the two sides must not see each other's rows.
      QUERN_ASSIGN_OR_RETURN(auto store, where.device->make_kv_store(state));
      QUERN_ASSIGN_OR_RETURN([[maybe_unused]] const int32_t sequence, store->create_sequence());
      side.stores_.emplace(state.name, std::move(store));
    }
    return side;
  }

  // Commits the rows of the run, so that the next one sees them.
  Result<Values> run(const ComparedRun& run) {
    RunArguments arguments{.inputs = run.inputs, .states = {}, .stream = 0};
    for (const auto& [name, store] : stores_) {
      // Before the run, which writes behind the committed rows.
      QUERN_TRY(store->reserve(0, run.num_rows));
      arguments.states.emplace(name, store.get());
    }
    auto result = executable_->run(arguments);
    if (!result) {
      return tl::unexpected(result.error().with_context(fmt::format("{}, {}", name_, run.name)));
    }
    for (const auto& [name, store] : stores_) QUERN_TRY(store->commit(0, run.num_rows));
    Values values;
    // A value may come as an output and as a readable one, with equal bytes.
    for (auto& [name, tensor] : result->values) values.insert_or_assign(name, std::move(tensor));
    return values;
  }

 private:
  std::string name_;
  std::unique_ptr<Executable> executable_;
  std::map<std::string, std::unique_ptr<KvStore>> stores_;
};

// Runs the comparison. One graph each.
class Comparer {
 public:
  // Borrows all.
  Comparer(const Graph& graph, const WeightSource* weights, const ComparedDevice& actual,
           const ComparedDevice& expected, std::span<const ComparedRun> runs,
           const ComparisonOptions& options)
      : graph_(graph),
        weights_(weights),
        actual_(actual),
        expected_(expected),
        runs_(runs),
        options_(options),
        readable_(computed_values(graph)) {}

  // Every value first; the whole graph only where that shows nothing.
  Result<GraphComparison> run() {
    // The reference is slow: each of its runs happens once and is kept.
    QUERN_TRY(run_expected());
    step();
    QUERN_TRY(compare_every_value());
    step();
    // Only where single values agree can the fault lie in what nodes become together.
    if (!result_.first) QUERN_TRY(compare_whole_graph());
    step();
    return std::move(result_);
  }

 private:
  // For the caller's progress.
  void step() {
    // The three searches above; the halving inside the last is not known beforehand.
    if (options_.progress) options_.progress(++num_steps_, 3);
  }

  // The graph with these values kept.
  Result<Side> load(const ComparedDevice& where, std::vector<std::string> readable) const {
    return Side::load(graph_, weights_, where, options_.numerics, std::move(readable));
  }

  // All runs once: both searches compare with them.
  Result<void> run_expected() {
    QUERN_ASSIGN_OR_RETURN(Side side, load(expected_, readable_));
    for (const ComparedRun& run : runs_) {
      QUERN_ASSIGN_OR_RETURN(Values values, side.run(run));
      expected_values_.push_back(std::move(values));
    }
    return {};
  }

  // Stops at the first run that differs.
  Result<void> compare_every_value() {
    QUERN_ASSIGN_OR_RETURN(Side side, load(actual_, readable_));
    for (size_t i = 0; i < runs_.size() && !result_.first; ++i) {
      QUERN_ASSIGN_OR_RETURN(Values values, side.run(runs_[i]));
      QUERN_TRY(compare_values(i, values));
      if (result_.first) keep(i, std::move(values));
    }
    return {};
  }

  // What the device makes of several nodes together is seen only when nothing but the outputs is
  // kept. Then the fault is narrowed down by keeping one more value at a time.
  Result<void> compare_whole_graph() {
    std::optional<size_t> run;
    // No value kept: fusions and shared memory are those of ordinary use.
    QUERN_ASSIGN_OR_RETURN(run, first_divergent_run({}, output_values()));
    if (!run) return {};
    const std::vector<ValueId> values = values_in_order();
    size_t low = 0, high = values.size();  // values before `low` are right, `high` - 1 is wrong
    // About log2(values) compilations, 10 for a thousand. Assumes that what is wrong stays wrong
    // downstream, which holds for a fault of one kernel and not for one that cancels out.
    while (low + 1 < high) {
      const size_t middle = low + (high - low) / 2;
      const ValueId value = values[middle - 1];
      QUERN_ASSIGN_OR_RETURN(const auto found,
                             first_divergent_run({graph_.value(value).name}, {value}));
      // Keeping values[middle - 1] splits the fused node there: wrong still, the fault is above.
      (found ? high : low) = middle;
    }
    const ValueId culprit = values[high - 1];
    QUERN_ASSIGN_OR_RETURN(run, first_divergent_run({graph_.value(culprit).name}, {culprit}));
    // The culprit's run is repeated, since `note` must describe it and not the last one tried.
    // Keeping the value may hide the fault; then the outputs themselves are all there is to name.
    if (!run) {
      QUERN_ASSIGN_OR_RETURN(run, first_divergent_run({}, output_values()));
    }
    if (result_.first) result_.first->needs_whole_graph = true;
    return {};
  }

  // Of the graph, as it is usually compiled.
  std::vector<ValueId> output_values() const {
    std::vector<ValueId> values;
    for (const GraphOutput& output : graph_.outputs()) values.push_back(output.value);
    return values;
  }
  // Makers before users.
  std::vector<ValueId> values_in_order() const {
    std::vector<ValueId> values;
    for (size_t i = 0; i < graph_.values().size(); ++i) {
      if (is_computed(graph_.node(graph_.values()[i].producer)))
        values.push_back(static_cast<ValueId>(i));
    }
    return values;
  }

  // Runs with only these values kept, and notes the first of `compared` that diverges.
  Result<std::optional<size_t>> first_divergent_run(std::vector<std::string> readable,
                                                    const std::vector<ValueId>& compared) {
    QUERN_ASSIGN_OR_RETURN(Side side, load(actual_, std::move(readable)));
    // From the first run on, as states carry over.
    for (size_t i = 0; i < runs_.size(); ++i) {
      QUERN_ASSIGN_OR_RETURN(Values values, side.run(runs_[i]));
      for (const ValueId value : compared) {
        QUERN_ASSIGN_OR_RETURN(const auto difference, difference_of(i, value, values));
        if (!difference) continue;
        note(i, value, *difference);
        // Only one value was looked at.
        result_.num_divergent = 1;
        keep(i, std::move(values));
        return std::optional<size_t>(i);
      }
    }
    return std::optional<size_t>();
  }

  // Nothing where both agree, or where a value was not kept.
  Result<std::optional<TensorDifference>> difference_of(size_t run, ValueId value,
                                                        const Values& values) {
    const Tensor* actual = find(values, value);
    const Tensor* expected = find(expected_values_[run], value);
    // Compiled away on one side: no claim about it is possible.
    if (actual == nullptr || expected == nullptr) return std::optional<TensorDifference>();
    QUERN_ASSIGN_OR_RETURN(const auto difference, compare_tensors(*actual, *expected));
    // Equal bits, or farther apart than allowed: in both cases the answer is known.
    if (!difference || difference->max_relative > options_.tolerance) return difference;
    result_.worst_relative = std::max(result_.worst_relative, difference->max_relative);
    // With tolerance 0 a difference of max_relative 0 (the sign of a zero) is a divergence.
    if (options_.tolerance > 0) return std::optional<TensorDifference>();
    return difference;
  }

  // A value by its own name, or as an output that has another one.
  // Null where neither name is there; owned by `values`.
  const Tensor* find(const Values& values, ValueId value) const {
    if (const auto it = values.find(graph_.value(value).name); it != values.end())
      return &it->second;
    for (const GraphOutput& output : graph_.outputs()) {
      if (output.value != value) continue;
      if (const auto it = values.find(output.name); it != values.end()) return &it->second;
    }
    return nullptr;
  }

  // The first value in the graph's order is where the fault lies.
  Result<void> compare_values(size_t run, const Values& values) {
    // Counted anew for each run; all runs have the same values.
    result_.num_values = 0;
    for (const ValueId value : values_in_order()) {
      QUERN_ASSIGN_OR_RETURN(const auto difference, difference_of(run, value, values));
      ++result_.num_values;
      if (!difference) continue;
      ++result_.num_divergent;
      if (!result_.first) note(run, value, *difference);
    }
    return {};
  }

  // Later notes replace earlier ones: the search goes on to smaller parts.
  void note(size_t run, ValueId value, const TensorDifference& difference) {
    const Tensor* expected = find(expected_values_[run], value);
    result_.first = Divergence{.run = run,
                               .node = graph_.value(value).producer,
                               .value = value,
                               .difference = difference,
                               .shape = expected->shape(),
                               .needs_whole_graph = false};
  }

  // For whoever repeats the fault.
  void keep(size_t run, Values values) {
    result_.actual = std::move(values);
    result_.expected = expected_values_[run];
    // So that a repro of the node finds its inputs, whether computed or given.
    for (const auto& [name, tensor] : runs_[run].inputs) result_.expected.emplace(name, tensor);
  }

  const Graph& graph_;
  const WeightSource* weights_;
  const ComparedDevice& actual_;
  const ComparedDevice& expected_;
  std::span<const ComparedRun> runs_;
  const ComparisonOptions& options_;
  std::vector<std::string> readable_;
  std::vector<Values> expected_values_;  // by run
  GraphComparison result_;
  int64_t num_steps_ = 0;
};

}  // namespace

Result<GraphComparison> compare_graph(const Graph& graph, const WeightSource* weights,
                                      const ComparedDevice& actual, const ComparedDevice& expected,
                                      std::span<const ComparedRun> runs,
                                      const ComparisonOptions& options) {
  return Comparer(graph, weights, actual, expected, runs, options).run();
}

}  // namespace quern
