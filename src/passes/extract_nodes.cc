// Copies the chosen nodes; everything they need from outside becomes an input.
#include "passes/extract_nodes.h"

#include <algorithm>
#include <set>

#include "base/fail.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {
namespace {

// Copies nodes into a graph of their own, for reports and repro files.
class Extractor {
 public:
  explicit Extractor(const Graph& source)
      : source_(source), builder_(source.registry()), map_(source.values().size(), kNoValue) {}

  Result<Graph> run(const std::vector<NodeId>& nodes) {
    // `nodes` ascending: producers before users, as the builder wants them.
    const std::set<NodeId> chosen(nodes.begin(), nodes.end());
    for (const NodeId id : nodes) declare_state(source_.node(id));
    // Inputs and weights first: a manifest reads and writes them as sections in front.
    // Two sweeps over the same nodes: first what becomes an input, then weights and constants.
    for (const bool is_weight : {false, true}) {
      for (const NodeId id : nodes) bring_inputs(id, chosen, is_weight);
    }
    for (const NodeId id : nodes) copy(source_.node(id));
    for (const NodeId id : nodes) {
      for (const ValueId output : source_.node(id).outputs) {
        builder_.output(source_.value(output).name, map_[static_cast<size_t>(output)]);
      }
    }
    return builder_.finish();
  }

 private:
  // The state that a node uses, declared once.
  void declare_state(const Node& node) {
    // The attribute's name is what marks an operation on a state; its value names the declaration.
    if (node.op->find_attribute("state") == nullptr) return;
    const StateDecl* state = source_.find_state(node.attributes.text("state"));
    if (state != nullptr && states_.insert(state->name).second) builder_.state(*state);
  }

  // Outside values that a node reads: weights and constants are copied with their nodes, all
  // else becomes an input of the same name and type.
  void bring_inputs(NodeId id, const std::set<NodeId>& chosen, bool is_weight) {
    for (const ValueId input : source_.node(id).inputs) {
      if (input == kNoValue || map_[static_cast<size_t>(input)] != kNoValue) continue;
      const Value& value = source_.value(input);
      if (chosen.contains(value.producer)) continue;
      const Node& producer = source_.node(value.producer);
      const bool is_copied =
          producer.op->id == "graph.weight" || producer.op->id == "graph.constant";
      // Not in this sweep; the other one brings it.
      if (is_copied != is_weight) continue;
      if (is_copied) {
        copy(producer);
      } else {
        map_[static_cast<size_t>(input)] = builder_.input(value.name, value.type);
      }
    }
  }

  // A copy under the same name; its inputs were brought or copied before it.
  void copy(const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back(input == kNoValue ? kNoValue : map_[static_cast<size_t>(input)]);
    }
    // Types are inferred anew and not copied: the extract must pass the verifier on its own.
    builder_.add(node.op->id, inputs, node.attributes, node.name);
    const auto outputs = builder_.last_outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      map_[static_cast<size_t>(node.outputs[i])] = outputs[i];
    }
  }

  const Graph& source_;
  GraphBuilder builder_;
  std::vector<ValueId> map_;  // by value id of the source
  std::set<std::string> states_;
};

}  // namespace

// Every result of the chosen nodes becomes an output, so that nothing of them is dead.
Result<Graph> extract_nodes(const Graph& graph, const std::vector<NodeId>& nodes) {
  for (const NodeId id : nodes) {
    if (id >= 0 && static_cast<size_t>(id) < graph.nodes().size()) continue;
    return fail::out_of_range("Node {} is not one of the graph's {}.", id, graph.nodes().size());
  }
  return Extractor(graph).run(nodes);
}

}  // namespace quern
