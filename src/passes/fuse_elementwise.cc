// Groups of elementwise nodes.
#include "passes/fuse_elementwise.h"

#include "passes/element_group.h"
#include "passes/fused_nodes.h"

namespace quern {

// Runs after the other fusions: what products and quantisations did not take forms groups of its
// own. A single node gains nothing and stays.
Result<Graph> fuse_elementwise(const Graph& graph, const PassOptions& options) {
  if (!options.fusions.has("fused.elementwise")) return graph;
  ElementGroups groups(graph, options);
  FusedNodes fused(graph);
  // From the end: a chain is taken from its last node, or it would be cut where the walk began.
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const auto root = static_cast<NodeId>(i);
    if (!groups.is_candidate(root)) continue;
    ElementGroup group = groups.grow(root);
    // The text of the program would only hide the operation from the backend's own kernel.
    if (group.nodes.size() < 2) continue;
    for (const NodeId node : group.nodes) groups.take(node);
    Attributes attributes{{"program", groups.program_of(group, group.inputs).to_string()}};
    // The root is replaced and not dropped: parts are the others.
    group.nodes.pop_back();
    fused.add(root, {"fused.elementwise", group.inputs, std::move(attributes), group.nodes});
  }
  return fused.apply();
}

}  // namespace quern
