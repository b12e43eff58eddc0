// Declarations to a graph: order, casts, broadcasts.
// All names are known before any node is made, so that errors can say what is missing and where the
// other one is.
#include "formats/manifest/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "formats/manifest/declarations.h"
#include "formats/manifest/node_order.h"
#include "formats/manifest/yaml_values.h"
#include "ir/variadic_port.h"
#include "ops/broadcasting.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {
namespace {

using namespace manifest;

// Builds the graph of one manifest.
class ManifestBuilder {
 public:
  // Borrows both.
  ManifestBuilder(const Declarations& declarations, const OpRegistry& registry)
      : d_(declarations), registry_(registry), builder_(registry) {}

  // Producers first, so that errors of names have both places; then nodes in their order.
  Result<Graph> build() {
    QUERN_TRY(note_producers());
    for (const auto& [place, state] : d_.states) {
      builder_.state(state);
      QUERN_TRY(check(place));
    }
    for (const ValueDecl& decl : d_.inputs) QUERN_TRY(add_input(decl));
    for (const ValueDecl& decl : d_.weights) QUERN_TRY(add_weight(decl));
    for (const ValueDecl& decl : d_.constants) QUERN_TRY(add_constant(decl));
    QUERN_TRY(find_dependencies());
    const auto dependencies = [this](size_t i) { return dependencies_[i]; };
    QUERN_ASSIGN_OR_RETURN(const auto order, order_nodes(d_.nodes, dependencies));
    for (const size_t i : order) QUERN_TRY(add_node(d_.nodes[i]));
    for (const auto& [name, ref] : d_.outputs) {
      QUERN_ASSIGN_OR_RETURN(const ValueId value, find(ref, fmt::format("Output '{}'", name)));
      builder_.output(name, value);
      QUERN_TRY(check(ref.place));
    }
    return builder_.finish();
  }

 private:
  // The mark of inputs, weights and constants, which are there before any node.
  static constexpr size_t kNotANode = SIZE_MAX;
  // Who makes a value: a declaration, or a node by its number.
  struct Producer {
    Place place;
    size_t node = kNotANode;  // index of the node
  };

  // The builder's error, with the place that caused it.
  Result<void> check(const Place& place) {
    if (!builder_.has_error()) return {};
    return error_at(place, builder_.finish().error());
  }

  // Errors: the name is taken, with the place of the first.
  Result<void> note_producer(const std::string& id, const Place& place, size_t node) {
    if (!is_graph_name(id)) {
      return error_at(place,
                      fmt::format("The id '{}' is not made of letters, digits and _ . : - /.",
                                  id.substr(0, 64)));
    }
    const auto [it, is_new] = producers_.emplace(id, Producer{place, node});
    if (is_new) return {};
    return error_at(
        place, fmt::format("'{}' is already produced at {}.", id, it->second.place.to_string()));
  }

  // Of all sections, before any use is looked at.
  Result<void> note_producers() {
    for (const auto* section : {&d_.inputs, &d_.weights, &d_.constants}) {
      for (const ValueDecl& decl : *section)
        QUERN_TRY(note_producer(decl.id, decl.place, kNotANode));
    }
    for (size_t i = 0; i < d_.nodes.size(); ++i) {
      QUERN_TRY(note_producer(d_.nodes[i].id, d_.nodes[i].place, i));
    }
    return {};
  }

  // The three kinds of declared values.
  Result<void> add_input(const ValueDecl& decl) {
    return declare(decl, builder_.input(decl.id, decl.type));
  }
  Result<void> add_weight(const ValueDecl& decl) {
    return declare(
        decl, builder_.add("graph.weight", {},
                           {{"weight", decl.weight}, {"type", decl.type.to_string()}}, decl.id));
  }
  Result<void> add_constant(const ValueDecl& decl) {
    return declare(
        decl, builder_.add("graph.constant", {},
                           {{"type", decl.type.to_string()}, {"values", decl.values}}, decl.id));
  }
  // Notes the value under its name, or passes the graph's error on with the place.
  Result<void> declare(const ValueDecl& decl, ValueId value) {
    values_of_.emplace(decl.id, value);
    return check(decl.place);
  }

  // The producer that a reference names: an id, or what stands before the port.
  const Producer* find_producer(std::string_view name) const {
    auto it = producers_.find(name);
    // The whole name first: ids may hold a ':' themselves. Without one rfind() gives npos, and the
    // same name is looked up again.
    if (it == producers_.end()) it = producers_.find(name.substr(0, name.rfind(':')));
    return it == producers_.end() ? nullptr : &it->second;
  }

  // Nodes that each node takes values of. Errors: names that nothing declares.
  Result<void> find_dependencies() {
    dependencies_.resize(d_.nodes.size());
    std::map<std::string, size_t, std::less<>> last_use;  // of each state, in the manifest's order
    for (size_t i = 0; i < d_.nodes.size(); ++i) {
      const NodeDecl& node = d_.nodes[i];
      for (const ValueRef& ref : node.inputs) {
        if (ref.name.empty()) continue;
        const Producer* producer = find_producer(ref.name);
        if (producer == nullptr) {
          return error_at(ref.place, fmt::format("Node '{}' takes '{}', which nothing declares.",
                                                 node.id, ref.name));
        }
        if (producer->node != kNotANode) dependencies_[i].push_back(producer->node);
      }
      note_state_use(i, last_use);
    }
    return {};
  }

  // Effects on one state happen in the order of the nodes that have them.
  void note_state_use(size_t i, std::map<std::string, size_t, std::less<>>& last_use) {
    const OpDef* op = registry_.find(d_.nodes[i].op);
    const AttributeDef* def = op == nullptr ? nullptr : op->find_attribute("state");
    if (def == nullptr) return;
    std::string state = def->default_value ? std::get<std::string>(*def->default_value) : "";
    for (const auto& [name, value] : d_.nodes[i].attributes) {
      if (name == "state") state = value.text;
    }
    const auto [it, is_first] = last_use.emplace(std::move(state), i);
    if (!is_first) dependencies_[i].push_back(std::exchange(it->second, i));
  }

  // "x", or "x:port" of a node with several outputs.
  Result<ValueId> find(const ValueRef& ref, std::string_view user) const {
    const auto it = values_of_.find(ref.name);
    if (it != values_of_.end()) return it->second;
    const Producer* producer = find_producer(ref.name);
    if (producer == nullptr) {
      return error_at(ref.place,
                      fmt::format("{} takes '{}', which nothing declares.", user, ref.name));
    }
    const std::string ports = producer->node == kNotANode
                                  ? "only itself"
                                  : port_list(*registry_.find(d_.nodes[producer->node].op));
    return error_at(ref.place,
                    fmt::format("{} takes '{}'; the node has {}.", user, ref.name, ports));
  }

  // For errors: which ports there are.
  std::string port_list(const OpDef& op) const {
    if (op.outputs.empty()) return "no outputs";
    std::string list = op.outputs.size() == 1 ? "the one output" : "the outputs";
    for (const PortDef& port : op.outputs) list += fmt::format(" '{}'", port.name);
    return list;
  }

  // One node; its inputs exist by now.
  Result<void> add_node(const NodeDecl& node) {
    const OpDef* op = registry_.find(node.op);
    if (op == nullptr) {
      return error_at(node.place,
                      fmt::format("Node '{}' has the unknown operation '{}'.", node.id, node.op));
    }
    QUERN_ASSIGN_OR_RETURN(Attributes attributes, collect_attributes(node, *op));
    QUERN_ASSIGN_OR_RETURN(std::vector<ValueId> inputs, collect_inputs(node, *op, attributes));
    const size_t first = builder_.so_far().nodes().size();
    cast_inputs(node, *op, inputs);
    auto fitting = broadcast_inputs(builder_, *op, inputs, node.id);
    if (!fitting) {
      return error_at(node.place, fitting.error().with_context(fmt::format("Node '{}'", node.id)));
    }
    builder_.add(node.op, *fitting, std::move(attributes), node.id);
    QUERN_TRY(check(node.place));
    // Casts and broadcasts of its inputs run where the node does.
    if (!node.device.empty()) builder_.place_from(first, node.device);
    const auto outputs = builder_.last_outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      // A node with one output is known under both names, "x" and "x:port".
      values_of_.emplace(node.id + ":" + op->outputs[i].name, outputs[i]);
    }
    if (outputs.size() == 1) values_of_.emplace(node.id, outputs[0]);
    return {};
  }

  // In port order, whichever way the manifest gives them. The attribute `form` may choose the
  // ports.
  Result<std::vector<ValueId>> collect_inputs(const NodeDecl& node, const OpDef& op,
                                              const Attributes& attributes) {
    const std::vector<PortDef> ports = op.input_ports(attributes);
    std::vector<ValueId> inputs;
    const std::string user = fmt::format("Node '{}'", node.id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      size_t place = i;
      if (!node.ports.empty()) {
        const auto port = find_input(ports, node.ports[i]);
        if (!port) {
          return error_at(node.inputs[i].place,
                          fmt::format("{}: {} has no input '{}'; it has {}.", user, op.id,
                                      node.ports[i], input_list(ports)));
        }
        place = *port;
        if (place >= ports.size() + node.inputs.size()) {
          return error_at(
              node.inputs[i].place,
              fmt::format("{}: {} has a gap before its input '{}'.", user, op.id, node.ports[i]));
        }
      }
      // Ports may come in any order and with gaps; what stays kNoValue is an absent input.
      if (inputs.size() <= place) inputs.resize(place + 1, kNoValue);
      if (node.inputs[i].name.empty()) continue;
      QUERN_ASSIGN_OR_RETURN(inputs[place], find(node.inputs[i], user));
    }
    return inputs;
  }

  // For errors: which inputs there are.
  static std::string input_list(std::span<const PortDef> ports) {
    std::vector<std::string> names;
    for (size_t i = 0; i < ports.size(); ++i) {
      names.push_back(input_name(ports, i));
      if (ports[i].is_variadic) names.push_back(input_name(ports, i + 1) + " and so on");
    }
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  }

  // By the kinds that the operation declares. Errors: unknown attributes, values of another kind.
  static Result<Attributes> collect_attributes(const NodeDecl& node, const OpDef& op) {
    Attributes attributes;
    for (const auto& [name, value] : node.attributes) {
      const AttributeDef* def = op.find_attribute(name);
      if (def == nullptr) {
        std::vector<std::string_view> known;
        for (const AttributeDef& attribute : op.attributes) known.push_back(attribute.name);
        return error_at(
            value.place,
            fmt::format("Node '{}': {} has no attribute '{}'; it has {}.", node.id, op.id, name,
                        known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
      }
      const std::string what = fmt::format("Attribute '{}' of node '{}'", name, node.id);
      QUERN_ASSIGN_OR_RETURN(AttributeValue typed, attribute_of(value, def->kind, what));
      attributes.set(name, std::move(typed));
    }
    return attributes;
  }

  // The precision contract: a node computes in the manifest's precision or in its own. Inputs of
  // other plain floats are cast; integers and block-quantised weights stay.
  void cast_inputs(const NodeDecl& node, const OpDef& op, std::vector<ValueId>& inputs) {
    const Precision precision = node.precision.value_or(d_.precision);
    if (precision == Precision::kMixed) return;
    const DType wanted = precision == Precision::kFloat32 ? DType::kF32 : DType::kF64;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNoValue || op.inputs.empty()) continue;
      const DType found = builder_.type(inputs[i])->dtype;
      // Integers are indices or masks: a cast would change what the operation does with them.
      if (found == wanted || !is_float(found)) continue;
      // Inputs past the last port are those of a variadic one, and its casts are numbered.
      const PortDef& port = op.inputs[std::min(i, op.inputs.size() - 1)];
      const std::string suffix = port.is_variadic ? fmt::format("{}{}", port.name, i) : port.name;
      inputs[i] = builder_.add("math.cast", {inputs[i]}, {{"to", std::string(dtype_name(wanted))}},
                               fmt::format("{}.cast.{}", node.id, suffix));
    }
  }

  const Declarations& d_;
  const OpRegistry& registry_;
  GraphBuilder builder_;
  std::map<std::string, Producer, std::less<>> producers_;
  std::map<std::string, ValueId, std::less<>> values_of_;  // by what references name
  std::vector<std::vector<size_t>> dependencies_;          // of each node
};

// What later errors may name.
ManifestPlaces places_of(const Declarations& d) {
  ManifestPlaces places;
  for (const auto* section : {&d.inputs, &d.weights, &d.constants}) {
    for (const ValueDecl& decl : *section) places.values.emplace(decl.id, decl.place);
  }
  for (const NodeDecl& node : d.nodes) places.values.emplace(node.id, node.place);
  for (const auto& [name, ref] : d.outputs) places.outputs.emplace(name, ref.place);
  for (const auto& [place, state] : d.states) places.states.emplace(state.name, place);
  places.weight_files = d.weight_files_place;
  return places;
}

}  // namespace

// Errors: those of the manifest and of the graph, with file and line.
Result<Manifest> parse_manifest(std::string_view text, std::string_view file_name,
                                const FileLoader& load, const OpRegistry& registry,
                                const ManifestOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const YamlNode root, load_tree(text, file_name, load));
  QUERN_ASSIGN_OR_RETURN(const Declarations declarations,
                         read_declarations(root, options.variables));
  QUERN_ASSIGN_OR_RETURN(Graph graph, ManifestBuilder(declarations, registry).build());
  return Manifest{declarations.name, std::move(graph), declarations.weight_files,
                  places_of(declarations)};
}

// The file's folder is that of its includes and weight files.
Result<Manifest> read_manifest(const std::string& path, const OpRegistry& registry,
                               const ManifestOptions& options) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  QUERN_ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  QUERN_ASSIGN_OR_RETURN(Manifest manifest,
                         parse_manifest(text, path, folder_loader(folder), registry, options));
  for (std::string& file : manifest.weight_files) {
    const auto inside = path_inside_folder("", file);
    if (!inside) {
      return error_at(
          manifest.places.weight_files,
          fmt::format("The path '{}' of 'weight_files' is not inside the manifest's folder.",
                      file));
    }
    file = (std::filesystem::path(folder) / *inside).string();
  }
  return manifest;
}

}  // namespace quern
