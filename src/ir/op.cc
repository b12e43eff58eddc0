// The registry of operations.
#include "quern/op.h"

#include <utility>

#include "base/check.h"

namespace quern {

// For documents and reports.
std::string_view effect_name(Effect effect) {
  switch (effect) {
    case Effect::kPure:
      return "pure";
    case Effect::kRandom:
      return "random";
    case Effect::kStateRead:
      return "state_read";
    case Effect::kStateWrite:
      return "state_write";
    case Effect::kCheckpoint:
      return "checkpoint";
    case Effect::kExternal:
      return "external";
  }
  return "unknown";
}

// As errors name it: "it must be a list of integers".
std::string_view attribute_kind_name(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kFlag:
      return "flag";
    case AttributeKind::kInteger:
      return "integer";
    case AttributeKind::kNumber:
      return "number";
    case AttributeKind::kText:
      return "text";
    case AttributeKind::kIntegers:
      return "list of integers";
    case AttributeKind::kNumbers:
      return "list of numbers";
  }
  return "unknown";
}

// The declaration of one attribute; null if the operation has none of that name.
const AttributeDef* OpDef::find_attribute(std::string_view name) const {
  for (const AttributeDef& attribute : attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

// The form "table" has ports of its own; the form "estimator" leaves out those that only a table
// has.
std::vector<PortDef> OpDef::input_ports(const Attributes& given) const {
  const AttributeValue* form = given.find("form");
  const auto* name = form == nullptr ? nullptr : std::get_if<std::string>(form);
  std::vector<PortDef> ports;
  if (name != nullptr && *name == "table" && !table_inputs.empty()) {
    for (const std::string& port : table_inputs) ports.push_back({.name = port});
    return ports;
  }
  for (const PortDef& port : inputs) {
    if (!port.is_table_only) ports.push_back(port);
  }
  return ports;
}

// Two definitions of one id would make graphs mean different things: a defect of the build.
void OpRegistry::add(OpDef op) {
  std::string id = op.id;
  const bool is_new = ops_.emplace(std::move(id), std::move(op)).second;
  QUERN_CHECK(is_new);
}

const OpDef* OpRegistry::find(std::string_view id) const {
  const auto it = ops_.find(id);
  return it == ops_.end() ? nullptr : &it->second;
}

// The order of ids is that of every list that users see.
std::vector<const OpDef*> OpRegistry::list() const {
  // Pointers into the map: they stay right while the registry grows, since a std::map does not move
  // its nodes.
  std::vector<const OpDef*> ops;
  ops.reserve(ops_.size());
  for (const auto& [id, op] : ops_) ops.push_back(&op);
  return ops;
}

}  // namespace quern
