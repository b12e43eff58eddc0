// Finds elementwise nodes that one fused node can compute.
#pragma once

#include <optional>
#include <vector>

#include "ops/fused_program.h"
#include "passes/pipeline.h"
#include "passes/value_users.h"
#include "quern/graph.h"

namespace quern {

// Nodes whose results nobody outside reads but the last, the root. All results have one type.
struct ElementGroup {
  std::vector<NodeId> nodes;    // in the graph's order; the root is the last
  std::vector<ValueId> inputs;  // read from outside, each once

  NodeId root() const { return nodes.back(); }
  bool contains(NodeId node) const;
};

// Groups of one graph, for one pass: candidates, growth, and which nodes are used up. Borrows graph
// and options. One thread only.
class ElementGroups {
 public:
  // One walk over the graph for the users of each value.
  ElementGroups(const Graph& graph, const PassOptions& options);

  // Whether a node may stand in a group: an elementwise operation on floats that the backend lists,
  // not yet taken, whose inputs have the result's type or are vectors for its last axis.
  bool is_candidate(NodeId node) const;
  // The largest group that ends in the candidate `root` within the backend's limits.
  // The root joins whatever its readers are; a result that is read twice is written once and read
  // twice, which is what a node does, too.
  ElementGroup grow(NodeId root) const;
  // The group as a program; `inputs` are x0, x1, ... and hold all of the group's.
  // Where products fuse, their results come first in `inputs`: x0 is what the product's store
  // holds.
  FusedProgram program_of(const ElementGroup& group, const std::vector<ValueId>& inputs) const;
  // Nodes that belong to a fused node already.
  void take(NodeId node) { is_taken_[static_cast<size_t>(node)] = true; }
  bool is_taken(NodeId node) const { return is_taken_[static_cast<size_t>(node)]; }
  const ValueUsers& users() const { return users_; }
  // Whether only nodes of the group read the value.
  bool is_private(const ElementGroup& group, ValueId value) const;

 private:
  // Whether the producer of one of the group's inputs may become part of it.
  bool can_join(const ElementGroup& group, NodeId node) const;
  // `nodes` ascending, as in ElementGroup.
  std::vector<ValueId> inputs_of(const std::vector<NodeId>& nodes) const;

  const Graph& graph_;
  const PassOptions& options_;
  ValueUsers users_;
  std::vector<bool> is_taken_;
};

}  // namespace quern
