// Node ids of random operations.
#include "passes/pin_random.h"

#include "passes/graph_copier.h"

namespace quern {
namespace {

// A random node whose id is still to be given; -1 is the default.
bool is_unpinned(const Node& node) {
  // Only operations that draw have the attribute; -1 asks for an id, any other is the user's own.
  return node.op->find_attribute("node_id") != nullptr && node.attributes.integer("node_id") < 0;
}

}  // namespace

// The index in the graph as it was read: later passes move nodes, and their numbers must not
// change.
Result<Graph> pin_random(const Graph& graph, const PassOptions&) {
  GraphCopier copier(graph);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!is_unpinned(node)) {
      copier.copy(node);
      continue;
    }
    Attributes attributes = node.attributes;
    // Counts all nodes and not random ones only: adding one deterministic node to a file shifts the
    // ids of those after it, but a compiled graph never changes under its passes.
    attributes.set("node_id", static_cast<int64_t>(i));
    copier.emit(node, node.op->id, copier.mapped_inputs(node), std::move(attributes));
  }
  return copier.finish();
}

}  // namespace quern
