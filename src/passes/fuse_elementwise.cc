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
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const auto root = static_cast<NodeId>(i);
    if (!groups.is_candidate(root)) continue;
    ElementGroup group = groups.grow(root);
    if (group.nodes.size() < 2) continue;
    for (const NodeId node : group.nodes) groups.take(node);
    Attributes attributes{{"program", groups.program_of(group, group.inputs).to_string()}};
    group.nodes.pop_back();
    fused.add(root, {"fused.elementwise", group.inputs, std::move(attributes), group.nodes});
  }
  return fused.apply();
}

}  // namespace quern
