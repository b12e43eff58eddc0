// Attributes and ports as a person writes them: text to values, names to positions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/op.h"

namespace quern {

// "0.5", "true", "[1, -1]" or "1,-1", text as it stands.
// Errors name the operation, the attribute, the text and what it must be.
Result<AttributeValue> parse_attribute(const OpDef& op, const AttributeDef& attribute,
                                       std::string_view text);

// From "name=value" each. Errors: an unknown name (with the known ones), one given twice.
Result<Attributes> parse_attributes(const OpDef& op, std::span<const std::string> texts);

// A port and what was given for it.
struct PortValue {
  size_t port = 0;   // position of the value among the node's inputs, or of the output
  std::string name;  // as it was given
  std::string text;  // a path
};

// From "PORT=TEXT" each, in the order of ports. The values of a variadic port "a" are named a, b,
// c, ... or all by its own name. Ports depend on the attribute `form`.
// Errors: an unknown port (with the known ones), one given twice, a required one missing.
Result<std::vector<PortValue>> bind_inputs(const OpDef& op, const Attributes& attributes,
                                           std::span<const std::string> texts);
Result<std::vector<PortValue>> bind_outputs(const OpDef& op, std::span<const std::string> texts);

}  // namespace quern
