// Value numbering by an exact key.
#include "passes/eliminate_common_subexpressions.h"

#include <fmt/ranges.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/fail.h"
#include "passes/graph_copier.h"

namespace quern {
namespace {

// Operands of a commutative operation in ascending order, where order does not matter: a shorter
// second operand (a bias) is not the same as a shorter first one.
void order_operands(const Graph& graph, const Node& node, std::vector<ValueId>& inputs) {
  if (!node.op->is_commutative || inputs.size() != 2) return;
  // Commutative bit for bit: a + b = b + a and a * b = b * a in IEEE 754 up to the payload of NaN,
  // which is no part of the promise. a + (b + c) is another matter and never touched.
  if (!(graph.value(inputs[0]).type == graph.value(inputs[1]).type)) return;
  std::ranges::sort(inputs);
}

// Everything that a pure node's results depend on. Aliases of one operation are the same.
std::string node_key(const Graph& graph, const Node& node, std::vector<ValueId> inputs) {
  order_operands(graph, node, inputs);
  const std::string& id = node.op->alias_of.empty() ? node.op->id : node.op->alias_of;
  // Version and device belong to it: another version has other bits, and a value on another device
  // is other memory.
  std::string key =
      fmt::format("{}@{}@{}({})", id, node.op->version, node.device, fmt::join(inputs, ","));
  for (const auto& [name, value] : node.attributes) {
    // Attributes are sorted by name and printed exactly (numbers by shortest round trip), so that
    // equal text means equal value; a hash could collide, text cannot.
    key += fmt::format(";{}={}", name, attribute_to_string(value));
  }
  return key;
}

}  // namespace

// Input nodes bind by name and stay apart. A node that somebody reads by name stays, too,
// although its users may take the earlier equal one.
Result<Graph> eliminate_common_subexpressions(const Graph& graph, const PassOptions& options) {
  GraphCopier copier(graph);
  std::map<std::string, const Node*, std::less<>> known;
  for (const Node& node : graph.nodes()) {
    // Two inputs of one type would have equal keys, but the caller binds different tensors.
    const bool is_candidate = node.op->effect == Effect::kPure && node.op->id != "Input";
    const Node* same = nullptr;
    if (is_candidate) {
      const auto [it, is_new] =
          // Inputs as mapped so far: where a and b have merged, f(a) and f(b) have one key in the
          // same sweep, so one pass finds whole equal subgraphs.
          known.emplace(node_key(copier.graph(), node, copier.mapped_inputs(node)), &node);
      if (!is_new) same = it->second;
    }
    if (same == nullptr || options.is_readable(graph, node)) {
      copier.copy(node);
    } else {
      copier.merge(node, *same);
    }
  }
  return copier.finish();
}

}  // namespace quern
