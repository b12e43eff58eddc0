// The rules of the IR.
#include <algorithm>
#include <set>

#include "base/fail.h"
#include "ir/node_rules.h"
#include "quern/graph.h"
#include "quern/op.h"

namespace quern {
namespace {

// Ports, ids, and definitions before uses.
Result<void> verify_inputs(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  QUERN_TRY(check_ports(*node.op, node.inputs));
  QUERN_TRY(check_ids(node.inputs, graph.values().size()));
  for (const ValueId input : node.inputs) {
    if (input == kNoValue) continue;
    // Nodes stand in an order in which they can run; a node that reads its own output is caught
    // too.
    if (graph.value(input).producer >= id) {
      return fail::invalid("Value '{}' is used before it is defined.", graph.value(input).name);
    }
  }
  return {};
}

// Values are compared by their text, which is exact: a NaN equals itself, 0 is not -0.
bool is_same(const Attributes& a, const Attributes& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && attribute_to_string(x.second) == attribute_to_string(y.second);
  });
}

// All attributes with their kinds. Comes first: other rules ask for declared attributes.
Result<void> verify_attributes(const Node& node) {
  QUERN_ASSIGN_OR_RETURN(const Attributes complete, complete_attributes(*node.op, node.attributes));
  // The first comparison is the quick one; the second decides where an attribute is NaN.
  if (complete == node.attributes || is_same(complete, node.attributes)) return {};
  return fail::invalid("Attributes are not complete.");
}

// Output types as the operation infers them. Layouts are the backend's to choose, so they are not
// compared.
Result<void> verify_types(const Graph& graph, const Node& node) {
  QUERN_ASSIGN_OR_RETURN(const auto types, infer_types(*node.op, graph.values(), node.inputs,
                                                       node.attributes, graph.states()));
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorType& found = graph.value(node.outputs[i]).type;
    if (found.dtype != types[i].dtype || found.dims != types[i].dims) {
      return fail::invalid("Output {} has type {}; its operation gives {}.", i, found.to_string(),
                           types[i].to_string());
    }
  }
  return {};
}

// Random operations count with 32 bits (numerics: Philox).
Result<void> verify_node_id(const Node& node) {
  const AttributeValue* value = node.attributes.find("node_id");
  const auto* id = value == nullptr ? nullptr : std::get_if<int64_t>(value);
  if (id == nullptr || (*id >= -1 && *id <= int64_t{UINT32_MAX})) return {};
  return fail::invalid("Attribute 'node_id' is {}; it must be -1 or a number of 32 bits.", *id);
}

// All rules of one node; the caller adds its name.
Result<void> verify_node(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  // By address: an operation of equal id from another registry may mean something else.
  if (graph.registry().find(node.op->id) != node.op) {
    return fail::invalid("Operation {} is not of the graph's registry.", node.op->id);
  }
  if (node.outputs.size() != node.op->outputs.size()) {
    return fail::invalid("{} has {} outputs; {} are declared.", node.op->id, node.outputs.size(),
                         node.op->outputs.size());
  }
  QUERN_TRY(verify_inputs(graph, id));
  QUERN_TRY(verify_attributes(node));
  if (node.op->find_attribute("state") != nullptr) {
    const std::string& state = node.attributes.text("state");
    if (graph.find_state(state) == nullptr) {
      return fail::invalid("State '{}' is not declared in the graph.", state);
    }
  }
  QUERN_TRY(verify_node_id(node));
  return verify_types(graph, node);
}

}  // namespace

// Nodes in order, then outputs. The first violation is reported, with the node's name.
Result<void> verify(const Graph& graph) {
  // Node names are not the names of values: a node without outputs has only this one, and reports
  // of a run are by node.
  std::set<std::string_view> names;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!names.insert(node.name).second) {
      return fail::invalid("The node name '{}' is used twice.", node.name);
    }
    const auto result = verify_node(graph, static_cast<NodeId>(i));
    if (!result) {
      return tl::unexpected(result.error().with_context(fmt::format("Node '{}'", node.name)));
    }
  }
  std::set<std::string_view> output_names;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.value < 0 || static_cast<size_t>(output.value) >= graph.values().size()) {
      return fail::invalid("Output '{}' names no value of the graph.", output.name);
    }
    if (!output_names.insert(output.name).second) {
      return fail::invalid("The output name '{}' is used twice.", output.name);
    }
  }
  return {};
}

}  // namespace quern
