// Liveness, views, in-place outputs and packed forms.
#include "passes/memory_plan.h"

#include <algorithm>
#include <limits>

#include "base/fail.h"
#include "quern/op.h"

namespace quern {
namespace {

// As the last step of results: later than any step, so max() and comparisons need no case of their
// own.
constexpr int32_t kForever = std::numeric_limits<int32_t>::max();

// Nodes that run although nobody reads their results.
bool has_lasting_effect(Effect effect) {
  return effect == Effect::kStateWrite || effect == Effect::kExternal ||
         effect == Effect::kCheckpoint;
}

// Whether the list names the port.
bool holds(const std::vector<int>& ports, int port) {
  return std::ranges::find(ports, port) != ports.end();
}

// Facts by value that storages are then cut from.
struct ValueFacts {
  ValueId root = kNoValue;   // the value whose memory this one views; itself if none
  bool is_needed = false;    // read by a step or a result, in any form
  int32_t last_plain = -1;   // of a root: the last step that reads it or a view; kForever: a result
  int32_t last_packed = -1;  // the last step that reads the packed form it is part of
};

// Turns a graph into steps and storages. Each function below is one sweep over nodes or values;
// the members hold what later sweeps need.
class Planner {
 public:
  Planner(const Graph& graph, const MemoryRules& rules)
      : graph_(graph), rules_(rules), facts_(graph.values().size()) {
    plan_.packed_bytes = rules.packed_bytes;
  }

  Result<MemoryPlan> run(const std::vector<std::string>& readable) {
    QUERN_TRY(find_results(readable));
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      // Asked once per node; the answer depends on the graph alone, never on extents.
      memory_.push_back(rules_.of_node(graph_, static_cast<NodeId>(i)));
    }
    // The order of these sweeps is a chain of needs: what runs, then its number, then who reads
    // what last, and only then which storage a value takes.
    mark_needed();
    number_steps();
    record_reads();
    plan_.value_storage.assign(facts_.size(), kNoStorage);
    for (size_t i = 0; i < graph_.nodes().size(); ++i) place_outputs(static_cast<NodeId>(i));
    number_results();
    return std::move(plan_);
  }

 private:
  ValueFacts& fact(ValueId value) { return facts_[static_cast<size_t>(value)]; }
  ValueFacts& root_fact(ValueId value) { return fact(fact(value).root); }
  int32_t& storage_of(ValueId value) { return plan_.value_storage[static_cast<size_t>(value)]; }
  Storage& storage(int32_t id) { return plan_.storages[static_cast<size_t>(id)]; }
  const NodeMemory& memory(NodeId id) const { return memory_[static_cast<size_t>(id)]; }
  // Views and nodes that are there when a run starts have no step.
  bool is_step(NodeId id) const { return step_of_[static_cast<size_t>(id)] >= 0; }

  Result<void> find_results(const std::vector<std::string>& readable);
  void mark_needed();
  void number_steps();
  void record_reads();
  void record_reads_of(NodeId id);
  NodeId packed_source(NodeId id) const;
  bool reads_plain(NodeId id, int port) const;
  void place_outputs(NodeId id);
  void place_value(NodeId id, ValueId value, int32_t step);
  void place_packed(NodeId id, int32_t step);
  int32_t in_place_storage(NodeId id, int32_t step);
  void number_results();

  const Graph& graph_;
  const MemoryRules& rules_;
  std::vector<ValueFacts> facts_;
  std::vector<NodeMemory> memory_;       // by node
  std::vector<bool> runs_;               // by node: some result or effect needs it
  std::vector<int32_t> step_of_;         // by node; -1: no step
  std::vector<int32_t> packed_storage_;  // by node
  MemoryPlan plan_;
};

// Outputs of the graph, then values that are read by name.
Result<void> Planner::find_results(const std::vector<std::string>& readable) {
  for (const GraphOutput& output : graph_.outputs()) {
    plan_.results.push_back({output.name, output.value});
  }
  // A name may be an output as well: both entries then stand for one value and one storage.
  for (const std::string& name : readable) {
    const ValueId value = graph_.find_value(name);
    if (value == kNoValue) return fail::not_found("The graph has no value '{}' to read.", name);
    plan_.results.push_back({name, value});
  }
  return {};
}

// A node runs if it has an effect, or if a result or a running node needs a value of it.
void Planner::mark_needed() {
  runs_.assign(graph_.nodes().size(), false);
  // A result is needed even where no step reads it.
  for (const PlannedResult& result : plan_.results) fact(result.value).is_needed = true;
  // Backwards, as in eliminate_dead_code, which may have been switched off.
  for (size_t i = graph_.nodes().size(); i-- > 0;) {
    const Node& node = graph_.nodes()[i];
    runs_[i] = has_lasting_effect(node.op->effect) ||
               std::ranges::any_of(node.outputs, [&](ValueId v) { return fact(v).is_needed; });
    if (!runs_[i]) continue;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) fact(input).is_needed = true;
    }
  }
}

// Numbers the nodes that run and finds the value behind each view.
void Planner::number_steps() {
  step_of_.assign(graph_.nodes().size(), -1);
  packed_storage_.assign(graph_.nodes().size(), kNoStorage);
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    const Node& node = graph_.nodes()[i];
    // Every value is its own root until a view says otherwise; producers come first, so a chain of
    // views ends at the one real value in one lookup.
    for (const ValueId value : node.outputs) fact(value).root = value;
    if (!runs_[i] || memory_[i].kind == NodeMemory::Kind::kNone) continue;
    if (memory_[i].kind == NodeMemory::Kind::kView) {
      // A view of a view takes the root of the first. Views have one input and one output.
      fact(node.outputs[0]).root = fact(node.inputs[0]).root;
      continue;
    }
    step_of_[i] = static_cast<int32_t>(plan_.steps.size());
    plan_.steps.push_back({.node = static_cast<NodeId>(i)});
  }
}

// The node whose packed form this node reads instead of plain inputs; -1 if none.
NodeId Planner::packed_source(NodeId id) const {
  const std::vector<ValueId>& inputs = graph_.node(id).inputs;
  NodeId source = -1;
  for (const int port : memory(id).packed_ports) {
    if (static_cast<size_t>(port) >= inputs.size()) return -1;
    const ValueId value = inputs[static_cast<size_t>(port)];
    if (value == kNoValue) return -1;
    const NodeId producer = graph_.value(value).producer;
    // Ports that come from two nodes are no packed form: values and scales belong together.
    if (source >= 0 && producer != source) return -1;
    source = producer;
  }
  // Else the node reads plain values, which the producer then must write.
  return source >= 0 && memory(source).has_packed_form ? source : -1;
}

// Whether the step reads the plain values of a port. Weights that a backend loads in a form of
// its own, and inputs that come packed, are not read plainly.
bool Planner::reads_plain(NodeId id, int port) const {
  if (holds(memory(id).loaded_ports, port)) {
    const ValueId weight = graph_.node(id).inputs[static_cast<size_t>(port)];
    // A constant on a weight port has no packed form at load; the step reads its plain bytes.
    return graph_.node(graph_.value(weight).producer).op->id != "graph.weight";
  }
  return !holds(memory(id).packed_ports, port) || packed_source(id) < 0;
}

// Notes this step as the last reader so far of each input, in the form that it reads.
void Planner::record_reads_of(NodeId id) {
  const int32_t step = step_of_[static_cast<size_t>(id)];
  const std::vector<ValueId>& inputs = graph_.node(id).inputs;
  for (size_t port = 0; port < inputs.size(); ++port) {
    if (inputs[port] == kNoValue) continue;
    if (reads_plain(id, static_cast<int>(port))) {
      // A read of a view keeps the memory of its root alive.
      root_fact(inputs[port]).last_plain = step;
    } else if (!holds(memory(id).loaded_ports, static_cast<int>(port))) {
      // Of the value itself: packed forms have no views.
      fact(inputs[port]).last_packed = step;
    }
  }
}

// Steps come in order, so the last note stands. Results are read after all of them.
void Planner::record_reads() {
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    if (is_step(static_cast<NodeId>(i))) record_reads_of(static_cast<NodeId>(i));
  }
  // After the steps, so that no later read can lower it.
  for (const PlannedResult& result : plan_.results) root_fact(result.value).last_plain = kForever;
}

// Storages for the results of one node and, where it makes one, for its packed form.
void Planner::place_outputs(NodeId id) {
  const Node& node = graph_.node(id);
  const int32_t step = step_of_[static_cast<size_t>(id)];
  for (const ValueId value : node.outputs) place_value(id, value, step);
  if (step < 0) return;
  MemoryStep& planned = plan_.steps[static_cast<size_t>(step)];
  const NodeId source = packed_source(id);
  if (source >= 0) planned.packed_input = packed_storage_[static_cast<size_t>(source)];
  if (memory(id).has_packed_form) place_packed(id, step);
}

// Views share the storage of their root. Values that are only read packed have none. The rest
// get a new storage, or that of an input which dies here.
void Planner::place_value(NodeId id, ValueId value, int32_t step) {
  const ValueFacts& own = fact(value);
  if (own.root != value) {
    storage_of(value) = storage_of(own.root);
    return;
  }
  const bool is_packed_only = own.last_plain < 0 && own.last_packed >= 0;
  // step < 0 besides: a view, which left above, or a node that does not run and has no readers.
  const bool is_source = step < 0;  // an input, weight or constant
  // A weight that only its packed form serves needs no plain bytes in memory at run time.
  if (is_packed_only || (is_source && own.last_plain < 0)) return;
  const int32_t last =
      std::max(own.last_plain, step);  // an output that nobody reads still needs room
  int32_t reused = kNoStorage;
  // Only the first output may overwrite an input: the others could still read it.
  if (value == graph_.node(id).outputs[0] && !is_source) reused = in_place_storage(id, step);
  if (reused != kNoStorage) {
    storage_of(value) = reused;
    // The storage keeps the `first` of its oldest value and lives on: one range, no gap.
    storage(reused).last = last;
    return;
  }
  storage_of(value) = static_cast<int32_t>(plan_.storages.size());
  Storage made{.value = value, .first = std::max(step, 0), .last = last};
  if (is_source) made.home = graph_.node(id).op->id == "Input" ? Home::kInput : Home::kLoaded;
  if (made.home == Home::kLoaded) made.index = value;
  if (made.home == Home::kInput) {
    // The order of Graph::inputs() is that of the tensors that a run binds.
    const std::vector<NodeId> inputs = graph_.inputs();
    made.index = static_cast<int32_t>(std::ranges::find(inputs, id) - inputs.begin());
  }
  plan_.storages.push_back(made);
}

// The storage of the input that output 0 may overwrite, if this step is its last reader.
int32_t Planner::in_place_storage(NodeId id, int32_t step) {
  const Node& node = graph_.node(id);
  const int port = node.op->in_place_input;
  if (!rules_.reuses || port < 0 || static_cast<size_t>(port) >= node.inputs.size()) {
    return kNoStorage;
  }
  const ValueId input = node.inputs[static_cast<size_t>(port)];
  if (input == kNoValue || !reads_plain(id, port)) return kNoStorage;
  const TensorType& from = graph_.value(input).type;
  const TensorType& to = graph_.value(node.outputs[0]).type;
  // Same bytes in the same order: element i of the output overwrites element i of the input, which
  // the kernel has read by then. Symbols must agree, as the plan holds for all their values.
  if (from.dtype != to.dtype || from.dims != to.dims) return kNoStorage;
  // A later reader, of the value or of a view of it, would see the new bytes.
  if (root_fact(input).last_plain != step) return kNoStorage;
  for (size_t other = 0; other < node.inputs.size(); ++other) {
    if (static_cast<int>(other) == port || node.inputs[other] == kNoValue) continue;
    // The other port may be read at another place than the one just written: refused for every
    // operation, although x * x alone would be safe.
    if (fact(node.inputs[other]).root == fact(input).root) return kNoStorage;
  }
  const int32_t found = storage_of(input);
  // A caller's tensor, a weight or a result is not ours to overwrite.
  return found != kNoStorage && storage(found).home == Home::kArena ? found : kNoStorage;
}

// One storage for the packed form of all outputs, for as long as somebody reads it.
void Planner::place_packed(NodeId id, int32_t step) {
  // All outputs together: a reader of any of them keeps the whole form.
  int32_t last = -1;
  for (const ValueId value : graph_.node(id).outputs) {
    last = std::max(last, fact(value).last_packed);
  }
  // Nobody reads it packed; the producer's kernel then writes plain outputs only.
  if (last < 0) return;
  const auto made = static_cast<int32_t>(plan_.storages.size());
  plan_.storages.push_back(
      {.value = graph_.node(id).outputs[0], .is_packed = true, .first = step, .last = last});
  packed_storage_[static_cast<size_t>(id)] = made;
  plan_.steps[static_cast<size_t>(step)].packed_output = made;
}

// Results leave the arena for tensors of their own. Without reuse the rest lives as long.
void Planner::number_results() {
  for (size_t i = 0; i < plan_.storages.size(); ++i) {
    Storage& made = plan_.storages[i];
    if (made.home != Home::kArena) continue;
    if (made.last != kForever) {
      // Alive from the first step on: no two storages share bytes, which is how a fault of the
      // planner is told from one of a kernel.
      if (!rules_.reuses) made.first = 0, made.last = kForever;
      continue;
    }
    made.home = Home::kResult;
    made.index = static_cast<int32_t>(plan_.result_storages.size());
    plan_.result_storages.push_back(static_cast<int32_t>(i));
  }
}

}  // namespace

std::string_view home_name(Home home) {
  switch (home) {
    case Home::kArena:
      return "arena";
    case Home::kInput:
      return "input";
    case Home::kLoaded:
      return "weight";
    case Home::kResult:
      return "result";
  }
  return "unknown";
}

// The plan knows no sizes: it holds for every binding of the symbols.
Result<MemoryPlan> plan_memory(const Graph& graph, const std::vector<std::string>& readable,
                               const MemoryRules& rules) {
  return Planner(graph, rules).run(readable);
}

}  // namespace quern
