// A hash of what a graph means.
#include "base/hash.h"
#include "quern/graph.h"
#include "quern/op.h"

namespace quern {
namespace {

// The text form keeps kinds apart: 1 and 1.0, "1" and [1].
void hash_attributes(Hasher& hasher, const Attributes& attributes) {
  hasher.number(attributes.size());
  for (const auto& [name, value] : attributes) {
    hasher.text(name).text(attribute_to_string(value));
  }
}

// Names matter only where the outside sees them: inputs are bound by name.
void hash_node(Hasher& hasher, const Graph& graph, const Node& node) {
  hasher.text(node.op->id).number(static_cast<uint64_t>(node.op->version));
  if (node.op->id == "Input") hasher.text(node.name);
  // Ids stand for edges: the order of nodes is part of the graph.
  hasher.number(node.inputs.size());
  // An absent input is kNoValue, a number that no value has.
  for (const ValueId input : node.inputs) hasher.number(static_cast<uint64_t>(input));
  hash_attributes(hasher, node.attributes);
  if (!node.device.empty()) hasher.text("@" + node.device);
  // Types follow from operation and inputs, but layouts are chosen by backends and count.
  for (const ValueId output : node.outputs) hasher.text(graph.value(output).type.to_string());
}

}  // namespace

// Equal for graphs that mean the same; what the outside does not see, such as names of inner nodes,
// does not count.
uint64_t semantic_hash(const Graph& graph) {
  Hasher hasher;
  for (const StateDecl& state : graph.states()) {
    hasher.text(state.name).text(state.kind);
    hash_attributes(hasher, state.attributes);
  }
  for (const Node& node : graph.nodes()) hash_node(hasher, graph, node);
  for (const GraphOutput& output : graph.outputs()) {
    hasher.text(output.name).number(static_cast<uint64_t>(output.value));
  }
  return hasher.digest();
}

}  // namespace quern
