// Typed access to YAML values, with errors that name file, line and what was expected.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "formats/manifest/yaml_tree.h"
#include "quern/graph.h"
#include "quern/op.h"

namespace quern::manifest {

// `what` begins the sentence of an error: "'count' of a repeat".
Result<std::string> text_of(const YamlNode& node, std::string_view what);
// Errors: no scalar, or no whole number of 64 bits.
Result<int64_t> integer_of(const YamlNode& node, std::string_view what);
// Also inf, -inf and nan, with or without YAML's dot.
Result<double> number_of(const YamlNode& node, std::string_view what);
// Errors name what it is instead.
Result<void> expect_map(const YamlNode& node, std::string_view what);
Result<void> expect_sequence(const YamlNode& node, std::string_view what);
// Refuses keys of a map that are not in the list.
Result<void> expect_keys(const YamlNode& node, std::string_view what,
                         std::initializer_list<std::string_view> known);
// The member that a map must have.
Result<const YamlNode*> require(const YamlNode& node, std::string_view key, std::string_view what);

// The value of an attribute of this kind.
Result<AttributeValue> attribute_of(const YamlNode& node, AttributeKind kind,
                                    std::string_view what);
// The same where no kind is declared: text in quotes is text, else what it looks like.
Result<AttributeValue> plain_attribute_of(const YamlNode& node, std::string_view what);

}  // namespace quern::manifest
