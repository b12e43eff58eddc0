// Short makers of the parts of an OpDef.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quern/op.h"

namespace quern::op_parts {

// Must be given.
inline PortDef port(std::string name) {
  return PortDef{.name = std::move(name)};
}
// May be absent: then its type is null in a rule, and its data in a kernel.
inline PortDef optional_port(std::string name) {
  return PortDef{.name = std::move(name), .is_optional = true};
}
// Of operations with two forms: see OpDef::table_inputs.
inline PortDef table_port(std::string name) {
  return PortDef{.name = std::move(name), .is_optional = true, .is_table_only = true};
}
// The last input only: any number of values from one up, all under this name.
inline PortDef variadic_port(std::string name) {
  return PortDef{.name = std::move(name), .is_variadic = true};
}

// No default: the attribute must be given.
inline constexpr std::nullopt_t kRequired = std::nullopt;

// Attributes by kind. Without a default they must be given; `doc` is a sentence for readers.
inline AttributeDef flag(std::string name, std::optional<bool> default_value, std::string doc) {
  AttributeDef def{.name = std::move(name), .kind = AttributeKind::kFlag, .doc = std::move(doc)};
  if (default_value) def.default_value = *default_value;
  return def;
}
inline AttributeDef integer(std::string name, std::optional<int64_t> default_value,
                            std::string doc) {
  AttributeDef def{.name = std::move(name), .kind = AttributeKind::kInteger, .doc = std::move(doc)};
  if (default_value) def.default_value = *default_value;
  return def;
}
inline AttributeDef number(std::string name, std::optional<double> default_value, std::string doc) {
  AttributeDef def{.name = std::move(name), .kind = AttributeKind::kNumber, .doc = std::move(doc)};
  if (default_value) def.default_value = *default_value;
  return def;
}
// Without `choices` any text is allowed.
inline AttributeDef text(std::string name, std::optional<std::string> default_value,
                         std::string doc, std::vector<std::string> choices = {}) {
  AttributeDef def{.name = std::move(name),
                   .kind = AttributeKind::kText,
                   .doc = std::move(doc),
                   .choices = std::move(choices)};
  if (default_value) def.default_value = std::move(*default_value);
  return def;
}
inline AttributeDef integers(std::string name, std::optional<std::vector<int64_t>> default_value,
                             std::string doc) {
  AttributeDef def{
      .name = std::move(name), .kind = AttributeKind::kIntegers, .doc = std::move(doc)};
  if (default_value) def.default_value = std::move(*default_value);
  return def;
}
inline AttributeDef numbers(std::string name, std::optional<std::vector<double>> default_value,
                            std::string doc) {
  AttributeDef def{.name = std::move(name), .kind = AttributeKind::kNumbers, .doc = std::move(doc)};
  if (default_value) def.default_value = std::move(*default_value);
  return def;
}

// The operation with its rules in words and the bound of its error in f32 (OpDef).
// `f32_cancels` widens the unit of the bound by an ulp of the largest of 1 and the inputs.
inline OpDef with_notes(OpDef op, std::string shape_rule, std::string edge_rule,
                        double f32_bound = 0, bool f32_cancels = false) {
  op.shape_rule = std::move(shape_rule);
  op.edge_rule = std::move(edge_rule);
  op.f32_bound = f32_bound;
  op.f32_cancels = f32_cancels;
  return op;
}

}  // namespace quern::op_parts
