// Replaces roots, drops parts.
#include "passes/fused_nodes.h"

#include "passes/graph_copier.h"

namespace quern {

// The parts go where the root is replaced; no node is part of two.
// A root may be replaced once: emplace keeps the first, and callers mark roots as taken.
void FusedNodes::add(NodeId root, FusedNode node) {
  for (const NodeId part : node.parts) is_part_[static_cast<size_t>(part)] = true;
  by_root_.emplace(root, std::move(node));
}

// One copy of the graph, with each fused node at the place of its root: all of its inputs are
// made before that.
Result<Graph> FusedNodes::apply() const {
  GraphCopier copier(graph_);
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    const Node& node = graph_.nodes()[i];
    const auto fused = by_root_.find(static_cast<NodeId>(i));
    if (is_part_[i]) {
      // The values of parts have no readers outside, which is what made them parts.
      copier.drop(node);
    } else if (fused == by_root_.end()) {
      copier.copy(node);
    } else {
      std::vector<ValueId> inputs;
      // Inputs of a fused node can themselves be results of fused nodes; the map knows the new
      // ones.
      for (const ValueId input : fused->second.inputs) inputs.push_back(copier.mapped(input));
      copier.emit(node, fused->second.op, inputs, fused->second.attributes);
    }
  }
  return copier.finish();
}

}  // namespace quern
