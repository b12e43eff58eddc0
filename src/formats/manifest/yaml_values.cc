// Scalars to numbers and attributes.
// A value in quotes is text; without them it is what the declared kind makes of it.
#include "formats/manifest/yaml_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace quern::manifest {
namespace {

// The whole text as a number, with an optional '+'.
template <class T>
std::optional<T> parse_whole(std::string_view text) {
  if (text.starts_with("+-")) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Also YAML's forms of infinity and NaN.
std::optional<double> parse_number(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == ".inf" || text == ".Inf" || text == "+.inf") return kInfinity;
  if (text == "-.inf" || text == "-.Inf") return -kInfinity;
  if (text == ".nan" || text == ".NaN") return std::numeric_limits<double>::quiet_NaN();
  return parse_whole<double>(text);
}

// YAML 1.2's booleans only: "yes" is a text.
std::optional<bool> parse_flag(std::string_view text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return std::nullopt;
}

// "... is ...; ... is needed.", at the place of the value.
tl::unexpected<Error> unfit(const YamlNode& node, std::string_view what, std::string_view wanted) {
  const std::string found =
      node.is_scalar() ? "'" + node.text.substr(0, 64) + "'" : std::string(node.kind_name());
  return error_at(node.place, fmt::format("{} is {}; {} is needed.", what, found, wanted));
}

// Each item by `convert`, which names what is wrong with it.
template <class T, class Convert>
Result<std::vector<T>> list_of(const YamlNode& node, std::string_view what, Convert convert) {
  QUERN_TRY(expect_sequence(node, what));
  std::vector<T> values;
  for (const YamlNode& item : node.items) {
    QUERN_ASSIGN_OR_RETURN(const T value, convert(item, what));
    values.push_back(value);
  }
  return values;
}

}  // namespace

// Any scalar, in quotes or not.
Result<std::string> text_of(const YamlNode& node, std::string_view what) {
  if (node.is_scalar()) return node.text;
  return unfit(node, what, "text");
}

Result<int64_t> integer_of(const YamlNode& node, std::string_view what) {
  const auto value = node.is_scalar() ? parse_whole<int64_t>(node.text) : std::nullopt;
  if (value) return *value;
  return unfit(node, what, "an integer of 64 bits");
}

Result<double> number_of(const YamlNode& node, std::string_view what) {
  const auto value = node.is_scalar() ? parse_number(node.text) : std::nullopt;
  if (value) return *value;
  return unfit(node, what, "a number");
}

Result<void> expect_map(const YamlNode& node, std::string_view what) {
  if (node.is_map()) return {};
  return unfit(node, what, "a map");
}

Result<void> expect_sequence(const YamlNode& node, std::string_view what) {
  if (node.is_sequence()) return {};
  return unfit(node, what, "a list");
}

Result<void> expect_keys(const YamlNode& node, std::string_view what,
                         std::initializer_list<std::string_view> known) {
  QUERN_TRY(expect_map(node, what));
  for (const auto& [key, value] : node.members) {
    if (std::ranges::find(known, key) != known.end()) continue;
    return error_at(value.place, fmt::format("{} has the unknown key '{}'; the keys are {}.", what,
                                             key, fmt::join(known, ", ")));
  }
  return {};
}

Result<const YamlNode*> require(const YamlNode& node, std::string_view key, std::string_view what) {
  const YamlNode* member = node.find(key);
  if (member != nullptr) return member;
  return error_at(node.place, fmt::format("{} needs the key '{}'.", what, key));
}

// By the declared kind; text that looks like a number is text where text is wanted.
Result<AttributeValue> attribute_of(const YamlNode& node, AttributeKind kind,
                                    std::string_view what) {
  switch (kind) {
    case AttributeKind::kFlag: {
      const auto flag = node.is_scalar() ? parse_flag(node.text) : std::nullopt;
      if (flag) return AttributeValue(*flag);
      return unfit(node, what, "true or false");
    }
    case AttributeKind::kInteger:
      return integer_of(node, what);
    case AttributeKind::kNumber:
      return number_of(node, what);
    case AttributeKind::kText:
      return text_of(node, what);
    case AttributeKind::kIntegers:
      return list_of<int64_t>(node, what, integer_of);
    case AttributeKind::kNumbers:
      return list_of<double>(node, what, number_of);
  }
  return fail::internal("An attribute has an unknown kind.");
}

// Lists of integers are integers; one float makes all of them numbers.
Result<AttributeValue> plain_attribute_of(const YamlNode& node, std::string_view what) {
  if (node.is_sequence()) {
    const bool are_integers = std::ranges::all_of(node.items, [](const YamlNode& item) {
      return item.is_scalar() && parse_whole<int64_t>(item.text).has_value();
    });
    return attribute_of(node, are_integers ? AttributeKind::kIntegers : AttributeKind::kNumbers,
                        what);
  }
  QUERN_ASSIGN_OR_RETURN(std::string text, text_of(node, what));
  if (node.is_quoted) return AttributeValue(std::move(text));
  if (const auto flag = parse_flag(text)) return AttributeValue(*flag);
  if (const auto integer = parse_whole<int64_t>(text)) return AttributeValue(*integer);
  if (const auto number = parse_number(text)) return AttributeValue(*number);
  return AttributeValue(std::move(text));
}

}  // namespace quern::manifest
