// Node-by-node construction with type inference.
#include "quern/graph_builder.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "ir/node_rules.h"

namespace quern {
namespace {

// Whether the graph has values of a node `name`; with several outputs they are named by port.
// Costs a look-up in a map for each port; add() asks only for nodes without a name.
bool has_values_of(const Graph& graph, const std::string& name, std::string_view op) {
  if (graph.find_value(name) != kNoValue) return true;
  const OpDef* def = graph.registry().find(op);
  return def != nullptr && std::ranges::any_of(def->outputs, [&](const PortDef& port) {
           return graph.find_value(name + ":" + port.name) != kNoValue;
         });
}

}  // namespace

// The registry must outlive the graph: nodes point into it.
GraphBuilder::GraphBuilder(const OpRegistry& registry) {
  graph_.registry_ = &registry;
}

// Later errors follow from the first and would only hide it.
void GraphBuilder::set_error(Error error) {
  if (!error_) error_ = std::move(error);
}

// Null for ids outside the graph, so that callers need not check kNoValue first.
const TensorType* GraphBuilder::type(ValueId value) const {
  if (value < 0 || static_cast<size_t>(value) >= graph_.values_.size()) return nullptr;
  return &graph_.values_[static_cast<size_t>(value)].type;
}

std::span<const ValueId> GraphBuilder::last_outputs() const {
  return last_outputs_;
}

// Says where the last node runs; nothing after an error.
void GraphBuilder::set_device(std::string device) {
  if (!error_ && !graph_.nodes_.empty()) graph_.nodes_.back().device = std::move(device);
}

void GraphBuilder::place_from(size_t first, const std::string& device) {
  for (size_t i = first; i < graph_.nodes_.size(); ++i) graph_.nodes_[i].device = device;
}

// Scopes nest: "blk.0." inside "model." names "model.blk.0.q".
void GraphBuilder::push_scope(std::string_view prefix) {
  scopes_.emplace_back(prefix);
}
void GraphBuilder::pop_scope() {
  if (!scopes_.empty()) return scopes_.pop_back();
  set_error({ErrorCode::kFailedPrecondition, "A scope is closed that was not opened."});
}

// Scopes end to end, then the name, or the operation with a number that no other node has.
std::string GraphBuilder::full_name(std::string_view name, std::string_view op) {
  std::string full;
  for (const std::string& scope : scopes_) full += scope;
  if (!name.empty()) return full + std::string(name);
  std::string fresh;
  do {
    // The number never goes back, so the loop repeats only for names that a caller chose alike.
    fresh = fmt::format("{}{}.{}", full, op, next_name_++);
  } while (has_values_of(graph_, fresh, op));
  return fresh;
}

// The node's name is the input's: runs bind it by that.
ValueId GraphBuilder::input(std::string_view name, TensorType type) {
  return add("Input", {}, {{"type", type.to_string()}}, name);
}

ValueId GraphBuilder::weight(std::string_view name, TensorType wanted) {
  // Only a node of "graph.weight" counts: an input that bears the name is not a weight, and add()
  // below then reports the clash.
  // Tied weights are asked for more than once and are one node.
  const ValueId known = graph_.find_value(name);
  if (known != kNoValue && graph_.node(graph_.value(known).producer).op->id == "graph.weight") {
    const TensorType& found = graph_.value(known).type;
    if (found == wanted) return known;
    set_error(
        {ErrorCode::kInvalidArgument, fmt::format("Weight '{}' is used as {} and as {}.", name,
                                                  found.to_string(), wanted.to_string())});
    return kNoValue;
  }
  std::vector<std::string> scopes;
  std::swap(scopes, scopes_);  // weights keep the name they have in the file
  const ValueId value =
      add("graph.weight", {}, {{"weight", std::string(name)}, {"type", wanted.to_string()}}, name);
  std::swap(scopes, scopes_);
  return value;
}

// A node that holds its values as an attribute.
ValueId GraphBuilder::constant(std::string_view name, DType dtype, const Shape& shape,
                               std::vector<double> values) {
  TensorType type{dtype, {}, LayoutKind::kRowMajor};
  for (const int64_t extent : shape.dims()) type.dims.push_back(Dim::constant(extent));
  // Values are f64 in the attribute whatever the dtype is: an i64 beyond 2^53 would lose bits,
  // which small tables do not reach.
  return add("graph.constant", {}, {{"type", type.to_string()}, {"values", std::move(values)}},
             name);
}

// Nodes refer to states by name, so the name must be the only one.
void GraphBuilder::state(StateDecl declaration) {
  if (graph_.find_state(declaration.name) != nullptr) {
    set_error(Error{ErrorCode::kInvalidArgument,
                    fmt::format("State '{}' is declared twice.", declaration.name)});
    return;
  }
  graph_.states_.push_back(std::move(declaration));
}

// For inputs written out in code.
ValueId GraphBuilder::add(std::string_view op, std::initializer_list<ValueId> inputs,
                          Attributes attributes, std::string_view name) {
  return add(op, std::span<const ValueId>(inputs.begin(), inputs.size()), std::move(attributes),
             name);
}

// One node with its rules: ports, ids, attributes, types.
ValueId GraphBuilder::add(std::string_view op_id, std::span<const ValueId> inputs,
                          Attributes attributes, std::string_view name) {
  last_outputs_.clear();
  if (error_) return kNoValue;
  const OpDef* op = graph_.registry_->find(op_id);
  if (op == nullptr) {
    set_error(Error{ErrorCode::kNotFound, fmt::format("There is no operation '{}'.", op_id)});
    return kNoValue;
  }
  std::string full = full_name(name, op_id);
  // The rules in the order in which a person would look: ports, attributes, types.
  const auto build = [&]() -> Result<ValueId> {
    // Each rule relies on those before it: a type rule reads the type of every required port and
    // asks for declared attributes without a check of its own.
    QUERN_TRY(check_ports(*op, inputs));
    QUERN_TRY(check_ids(inputs, graph_.values_.size()));
    QUERN_ASSIGN_OR_RETURN(Attributes complete, complete_attributes(*op, attributes));
    QUERN_ASSIGN_OR_RETURN(auto types,
                           infer_types(*op, graph_.values_, inputs, complete, graph_.states_));
    return append(*op, inputs, std::move(complete), full, std::move(types));
  };
  auto value = build();
  if (value) return error_ ? kNoValue : *value;  // the node's name may have been taken
  set_error(value.error().with_context(fmt::format("Node '{}'", full)));
  return kNoValue;
}

// Copies of verified nodes: finish() still verifies the whole graph.
ValueId GraphBuilder::add_known(const Node& like, std::span<const ValueId> inputs,
                                std::vector<TensorType> types) {
  last_outputs_.clear();
  if (error_) return kNoValue;
  const ValueId value = append(*like.op, inputs, like.attributes, like.name, std::move(types));
  set_device(like.device);
  return value;
}

// The values of the node take new names with it.
void GraphBuilder::rename(NodeId id, std::string name) {
  if (error_) return;
  // The map of names is keyed by text, so the old entry goes before the new one is claimed.
  Node& node = graph_.nodes_[static_cast<size_t>(id)];
  for (const ValueId output : node.outputs) {
    Value& value = graph_.values_[static_cast<size_t>(output)];
    graph_.value_names_.erase(value.name);
    value.name = value_name(*node.op, name, static_cast<size_t>(value.output));
    add_value_name(value.name, output);
  }
  node.name = std::move(name);
}

// The node's name, with the port's where there is more than one output.
std::string GraphBuilder::value_name(const OpDef& op, const std::string& node, size_t output) {
  return op.outputs.size() == 1 ? node : node + ":" + op.outputs[output].name;
}

// A second use of a name is an error that finish() reports.
void GraphBuilder::add_value_name(const std::string& name, ValueId value) {
  if (graph_.value_names_.emplace(name, value).second) return;
  set_error(Error{ErrorCode::kInvalidArgument, fmt::format("The name '{}' is used twice.", name)});
}

// Puts a checked node at the end.
ValueId GraphBuilder::append(const OpDef& op, std::span<const ValueId> inputs,
                             Attributes attributes, std::string name,
                             std::vector<TensorType> types) {
  //   graph_.values_ [ ... | out 0 | out 1 ]  ids are positions; producer and port are in each
  //   graph_.nodes_  [ ... | node ]           node.outputs holds the ids
  // Both lists only grow, so an id that a call returned stays right until finish().
  Node node{&op, name, {inputs.begin(), inputs.end()}, {}, std::move(attributes), {}};
  // Absent inputs at the end say nothing: nodes that mean the same look the same.
  while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
  for (size_t i = 0; i < types.size(); ++i) {
    const auto id = static_cast<ValueId>(graph_.values_.size());
    std::string full = value_name(op, name, i);
    add_value_name(full, id);
    graph_.values_.push_back({std::move(types[i]), static_cast<NodeId>(graph_.nodes_.size()),
                              static_cast<int>(i), std::move(full)});
    node.outputs.push_back(id);
  }
  last_outputs_ = node.outputs;
  graph_.nodes_.push_back(std::move(node));
  return last_outputs_.empty() ? kNoValue : last_outputs_.front();
}

// Names of outputs may repeat those of values; among themselves they are checked by verify().
void GraphBuilder::output(std::string_view name, ValueId value) {
  if (error_) return;
  if (type(value) == nullptr) {
    set_error(Error{ErrorCode::kInvalidArgument,
                    fmt::format("Output '{}' names no value of the graph.", name)});
    return;
  }
  graph_.outputs_.push_back({std::string(name), value});
}

// Verifies once; the builder is then empty and can be used for another graph.
Result<Graph> GraphBuilder::finish() {
  if (error_) return tl::unexpected(*error_);
  QUERN_TRY(verify(graph_));
  // A moved-from Graph would have no registry, and the next add() would look up through a null.
  const OpRegistry* registry = graph_.registry_;
  Graph finished = std::exchange(graph_, Graph{});
  graph_.registry_ = registry;
  // Names, scopes and outputs of this graph mean nothing in the next one.
  scopes_.clear();
  last_outputs_.clear();
  next_name_ = 0;
  return finished;
}

}  // namespace quern
