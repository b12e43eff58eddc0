// The fused nodes that a pass decided on, and the graph with them in place of their parts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quern/graph.h"

namespace quern {

// A node in place of its parts. It stands where the last part stood and has its name and outputs.
struct FusedNode {
  std::string op;
  std::vector<ValueId> inputs;  // of the source graph
  Attributes attributes;
  std::vector<NodeId> parts;  // all but the root
};

// Collects decisions; apply() makes the graph.
class FusedNodes {
 public:
  // `graph` is borrowed and must outlive this object.
  explicit FusedNodes(const Graph& graph) : graph_(graph), is_part_(graph.nodes().size(), false) {}

  // Parts come before the root in the graph's order, and no part is readable or an output.
  void add(NodeId root, FusedNode node);
  // Errors: what the rules of the fused operations say.
  Result<Graph> apply() const;

 private:
  const Graph& graph_;
  std::map<NodeId, FusedNode> by_root_;
  std::vector<bool> is_part_;
};

}  // namespace quern
