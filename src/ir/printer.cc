// The text form of graphs. One line a node:
//   %name = op.id(%a, %b, _) {attribute = value} @device : f32[T, 64]
// where attributes with their default values and an unplaced node's device are left out.
#include <algorithm>

#include "base/fail.h"
#include "quern/graph.h"
#include "quern/op.h"

namespace quern {
namespace {

// "%name", or "_" for an absent input.
std::string value_text(const Graph& graph, ValueId id) {
  return id == kNoValue ? "_" : "%" + graph.value(id).name;
}

// Attributes that differ from the operation's defaults.
std::string attributes_text(const OpDef* op, const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) {
    // States have no declaration: all their attributes are printed.
    const AttributeDef* def = op == nullptr ? nullptr : op->find_attribute(name);
    const bool is_default = def && def->default_value &&
                            // Compared as text: a NaN default would not equal itself, and 0 would
                            // equal -0.
                            attribute_to_string(*def->default_value) == attribute_to_string(value);
    if (is_default) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, attribute_to_string(value));
  }
  return text.empty() ? "" : " {" + text + "}";
}

// One line; the types behind ':' are for readers, and checked when they are read back.
std::string node_text(const Graph& graph, const Node& node) {
  std::string line = fmt::format("  %{} = {}(", node.name, node.op->id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i > 0) line += ", ";
    line += value_text(graph, node.inputs[i]);
  }
  line += ")" + attributes_text(node.op, node.attributes);
  if (!node.device.empty()) line += " @" + node.device;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    line += (i == 0 ? " : " : ", ") + graph.value(node.outputs[i]).type.to_string();
  }
  return line;
}

}  // namespace

// States, nodes, outputs: the order in which the parser needs them.
std::string print_graph(const Graph& graph) {
  std::string text = "graph {\n";
  for (const StateDecl& state : graph.states()) {
    text += fmt::format("  state @{} : {}{}\n", state.name, state.kind,
                        attributes_text(nullptr, state.attributes));
  }
  for (const Node& node : graph.nodes()) text += node_text(graph, node) + "\n";
  for (const GraphOutput& output : graph.outputs()) {
    text += fmt::format("  output {} = {}\n", output.name, value_text(graph, output.value));
  }
  return text + "}\n";
}

}  // namespace quern
