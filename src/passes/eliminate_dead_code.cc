// Liveness from outputs and effects, backwards.
#include "passes/eliminate_dead_code.h"

#include "passes/graph_copier.h"

namespace quern {
namespace {

// Nodes that do something besides making values. Inputs stay because a run binds them by name;
// random nodes may go, since their words depend on their own ids alone.
bool has_lasting_effect(const Node& node) {
  const Effect effect = node.op->effect;
  // State reads and random nodes are missing on purpose: without a reader, nothing tells that they
  // ran.
  return effect == Effect::kStateWrite || effect == Effect::kExternal ||
         effect == Effect::kCheckpoint || node.op->id == "Input";
}

}  // namespace

// One sweep from the end: users come after producers, so a node's need is known when it is met.
Result<Graph> eliminate_dead_code(const Graph& graph, const PassOptions& options) {
  std::vector<bool> is_live(graph.values().size(), false);
  const auto mark = [&](ValueId value) {
    if (value != kNoValue) is_live[static_cast<size_t>(value)] = true;
  };
  for (const GraphOutput& output : graph.outputs()) mark(output.value);
  // Names that the graph lacks were refused by `verify`; find_value gives kNoValue for them.
  for (const std::string& name : options.readable) mark(graph.find_value(name));
  std::vector<bool> is_kept(graph.nodes().size(), false);
  // Values are made before they are read, so one sweep reaches the fixed point: linear in the
  // edges.
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    bool is_needed = has_lasting_effect(node);
    // A node with one live output stays whole, as a kernel writes all of its outputs.
    for (const ValueId value : node.outputs) is_needed |= is_live[static_cast<size_t>(value)];
    if (!is_needed) continue;
    is_kept[i] = true;
    for (const ValueId input : node.inputs) mark(input);
  }
  GraphCopier copier(graph);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (is_kept[i]) {
      copier.copy(graph.nodes()[i]);
    } else {
      copier.drop(graph.nodes()[i]);
    }
  }
  return copier.finish();
}

}  // namespace quern
