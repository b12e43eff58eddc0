// Look-ups in a graph.
#include "quern/graph.h"

#include "quern/op.h"

namespace quern {

// Nodes that a run binds, in the graph's order: this is also the order of inputs in plans.
std::vector<NodeId> Graph::inputs() const {
  std::vector<NodeId> ids;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].op->id == "Input") ids.push_back(static_cast<NodeId>(i));
  }
  return ids;
}

// The value of that name; kNoValue if there is none.
ValueId Graph::find_value(std::string_view name) const {
  const auto it = value_names_.find(name);
  return it == value_names_.end() ? kNoValue : it->second;
}

// Graphs have one state or two: a walk is enough.
const StateDecl* Graph::find_state(std::string_view name) const {
  for (const StateDecl& state : states_) {
    if (state.name == name) return &state;
  }
  return nullptr;
}

}  // namespace quern
