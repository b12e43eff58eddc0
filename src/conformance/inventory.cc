// Collects operations, their place in the catalogue and the support of each backend.
#include "conformance/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace quern {
namespace {

using nlohmann::ordered_json;

// Words between single spaces.
std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    words.push_back(text.substr(0, space));
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  return words;
}

// Where the operation stands: in the catalogue of graphs, on a surface only, or in the engine.
InventoryRow make_row(const OpDef& op) {
  InventoryRow row{.op = &op, .required = find_required(op.id), .methods = {}, .support = {}};
  if (row.required != nullptr) {
    row.origin = OpOrigin::kRequired;
    row.methods = split_words(row.required->methods);
    return row;
  }
  // Several methods may share one operation.
  for (const SurfaceMethod& method : surface_methods()) {
    if (method.id != op.id) continue;
    row.methods.push_back(method.name);
    if (!is_required_method(method.name)) row.origin = OpOrigin::kSurface;
  }
  return row;
}

// Ports with what is special about them.
ordered_json ports_json(std::span<const PortDef> ports) {
  auto list = ordered_json::array();
  for (const PortDef& port : ports) {
    ordered_json json = {{"name", port.name}};
    if (port.is_optional) json["optional"] = true;
    if (port.is_variadic) json["variadic"] = true;
    list.push_back(std::move(json));
  }
  return list;
}

// Attributes with kind, default and meaning.
ordered_json attributes_json(const OpDef& op) {
  auto list = ordered_json::array();
  for (const AttributeDef& attribute : op.attributes) {
    ordered_json json = {{"name", attribute.name},
                         {"kind", attribute_values(attribute)},
                         {"required", !attribute.default_value.has_value()}};
    if (attribute.default_value) {
      std::visit([&](const auto& value) { json["default"] = value; }, *attribute.default_value);
    }
    json["doc"] = attribute.doc;
    list.push_back(std::move(json));
  }
  return list;
}

// One operation, with the support of every backend.
ordered_json row_json(const Inventory& inventory, const InventoryRow& row) {
  const OpDef& op = *row.op;
  ordered_json json = {{"id", op.id},
                       {"version", op.version},
                       {"origin", op_origin_name(row.origin)},
                       {"effect", effect_name(op.effect)}};
  if (row.required != nullptr) json["link"] = op_link_name(row.required->link);
  if (!row.methods.empty()) json["methods"] = row.methods;
  if (!op.alias_of.empty()) json["alias_of"] = op.alias_of;
  for (size_t i = 0; i < inventory.backends.size(); ++i) {
    json["support"][inventory.backends[i]] = support_name(row.support[i].kind);
  }
  json["doc"] = op.doc;
  json["shape_rule"] = op.shape_rule;
  json["edge_rule"] = op.edge_rule;
  json["f32_bound"] = op.f32_bound;
  if (op.f32_cancels) json["f32_cancels"] = true;
  // With default attributes; other forms have inputs of their own.
  json["inputs"] = ports_json(op.input_ports({}));
  if (!op.table_inputs.empty()) json["table_inputs"] = op.table_inputs;
  json["outputs"] = ports_json(op.outputs);
  json["attributes"] = attributes_json(op);
  return json;
}

// Totals by origin, link, and support of each backend.
ordered_json counts_json(const Inventory& inventory) {
  ordered_json json = {{"operations", inventory.rows.size()},
                       {"required", inventory.count(OpOrigin::kRequired)},
                       {"surface_methods", surface_methods().size()},
                       {"surface_only", inventory.count(OpOrigin::kSurface)}};
  for (const OpLink link :
       {OpLink::kDirect, OpLink::kComposite, OpLink::kRegistry, OpLink::kGraphOnly}) {
    json["links"][std::string(op_link_name(link))] =
        // Of the catalogue, whether this build has the operation or not.
        std::ranges::count(required_ops(), link, &RequiredOp::link);
  }
  for (size_t i = 0; i < inventory.backends.size(); ++i) {
    ordered_json& counts = json["support"][inventory.backends[i]];
    for (size_t kind = 0; kind < inventory.counts[i].size(); ++kind) {
      counts[std::string(support_name(static_cast<Support::Kind>(kind)))] =
          inventory.counts[i][kind];
    }
  }
  return json;
}

}  // namespace

// The name in JSON.
std::string_view op_origin_name(OpOrigin origin) {
  switch (origin) {
    case OpOrigin::kRequired:
      return "required";
    case OpOrigin::kSurface:
      return "surface";
    case OpOrigin::kEngine:
      return "engine";
  }
  return "unknown";
}

int Inventory::count(OpOrigin origin) const {
  return static_cast<int>(std::ranges::count(rows, origin, &InventoryRow::origin));
}

// One row for each registered operation, aliases included, sorted by id.
Inventory make_inventory(const OpRegistry& ops, std::span<const Backend* const> backends) {
  Inventory inventory;
  for (const Backend* backend : backends) inventory.backends.emplace_back(backend->name());
  inventory.counts.resize(backends.size());
  for (const OpDef* op : ops.list()) {
    InventoryRow row = make_row(*op);
    for (size_t i = 0; i < backends.size(); ++i) {
      row.support.push_back(backends[i]->supports(*op));
      ++inventory.counts[i][static_cast<size_t>(row.support.back().kind)];
    }
    inventory.rows.push_back(std::move(row));
  }
  return inventory;
}

// For programs: counts, operations, methods of the surfaces.
std::string inventory_json(const Inventory& inventory) {
  auto operations = ordered_json::array();
  for (const InventoryRow& row : inventory.rows) operations.push_back(row_json(inventory, row));
  auto methods = ordered_json::array();
  for (const SurfaceMethod& method : surface_methods()) {
    methods.push_back({{"name", method.name}, {"id", method.id}});
  }
  const ordered_json json = {{"counts", counts_json(inventory)},
                             {"operations", std::move(operations)},
                             {"surface_methods", std::move(methods)}};
  return json.dump(1) + "\n";
}

}  // namespace quern
