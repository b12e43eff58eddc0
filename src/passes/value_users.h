// Who reads each value of a graph.
#pragma once

#include <span>
#include <vector>

#include "quern/graph.h"

namespace quern {

struct PassOptions;

// Made once per pass; the graph must outlive it.
class ValueUsers {
 public:
  // One walk over nodes; `options` is read in the constructor only.
  ValueUsers(const Graph& graph, const PassOptions& options);

  // Nodes that read the value, each once, in order.
  std::span<const NodeId> of(ValueId value) const { return users_[static_cast<size_t>(value)]; }
  // Whether the caller can see the value: an output or a readable name.
  bool is_visible(ValueId value) const { return is_visible_[static_cast<size_t>(value)]; }
  // Whether one node alone reads the value, and the caller does not.
  bool is_single(ValueId value) const { return !is_visible(value) && of(value).size() == 1; }

 private:
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> is_visible_;
};

}  // namespace quern
