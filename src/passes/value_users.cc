// Users by value.
#include "passes/value_users.h"

#include "passes/pipeline.h"

namespace quern {

// Users in order, each once. A value is visible if it is an output or is read by name: then no
// fusion may hide it.
ValueUsers::ValueUsers(const Graph& graph, const PassOptions& options)
    : users_(graph.values().size()), is_visible_(graph.values().size(), false) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    for (const ValueId input : graph.node(id).inputs) {
      if (input == kNoValue) continue;
      auto& users = users_[static_cast<size_t>(input)];
      // Nodes come in order, so a second port of one node is the last entry.
      if (users.empty() || users.back() != id) users.push_back(id);
    }
  }
  for (const GraphOutput& output : graph.outputs()) {
    is_visible_[static_cast<size_t>(output.value)] = true;
  }
  for (const std::string& name : options.readable) {
    // A name that the graph lacks is `verify`'s to report.
    const ValueId value = graph.find_value(name);
    if (value != kNoValue) is_visible_[static_cast<size_t>(value)] = true;
  }
}

}  // namespace quern
