// Value numbering by an exact key.
#include "passes/eliminate_common_subexpressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/fail.h"
#include "passes/graph_copier.h"

namespace quern {
namespace {

// Everything that a pure node's results depend on.
std::string node_key(const Node& node, std::span<const ValueId> inputs) {
  std::string key = fmt::format("{}@{}({})", node.op->id, node.op->version, fmt::join(inputs, ","));
  for (const auto& [name, value] : node.attributes) {
    key += fmt::format(";{}={}", name, attribute_to_string(value));
  }
  return key;
}

bool is_readable(const Graph& graph, const Node& node, const PassOptions& options) {
  return std::ranges::any_of(node.outputs, [&](ValueId output) {
    return std::ranges::find(options.readable, graph.value(output).name) != options.readable.end();
  });
}

}  // namespace

Result<Graph> eliminate_common_subexpressions(const Graph& graph, const PassOptions& options) {
  GraphCopier copier(graph);
  std::map<std::string, const Node*> known;
  for (const Node& node : graph.nodes()) {
    const bool is_candidate = node.op->effect == Effect::kPure && node.op->id != "Input";
    const Node* same = nullptr;
    if (is_candidate) {
      const auto [it, is_new] = known.emplace(node_key(node, copier.mapped_inputs(node)), &node);
      if (!is_new) same = it->second;
    }
    if (same == nullptr || is_readable(graph, node, options)) {
      copier.copy(node);
      continue;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      copier.replace(node.outputs[i], copier.mapped(same->outputs[i]));
    }
  }
  return copier.finish();
}

}  // namespace quern
