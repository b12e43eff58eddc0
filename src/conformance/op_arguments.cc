// Parsing of attributes and port bindings.
#include "conformance/op_arguments.h"

#include <algorithm>
#include <charconv>

#include "base/fail.h"
#include "ir/variadic_port.h"

namespace quern {
namespace {

// The whole text as a number. A leading '+' is taken, which from_chars() refuses.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [last, code] = std::from_chars(text.data(), end, value);
  if (text.empty() || code != std::errc{} || last != end) return std::nullopt;
  return value;
}

// Blanks alone: nothing else comes from a command line by habit.
std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "[1, 2]", "1,2" or "[]".
template <class T>
std::optional<std::vector<T>> parse_list(std::string_view text) {
  text = trim(text);
  // Both brackets or none.
  if (text.starts_with('[') != text.ends_with(']')) return std::nullopt;
  if (text.starts_with('[')) text = trim(text.substr(1, text.size() - 2));
  std::vector<T> values;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const auto value = parse_number<T>(trim(text.substr(0, comma)));
    if (!value) return std::nullopt;
    values.push_back(*value);
    if (comma == std::string_view::npos) return values;
    text = text.substr(comma + 1);
    // A comma at the end has nothing behind it.
    if (trim(text).empty()) return std::nullopt;
  }
  return values;
}

// An optional number or list as an optional attribute.
template <class T>
std::optional<AttributeValue> as_value(std::optional<T> value) {
  if (!value) return std::nullopt;
  return AttributeValue(std::move(*value));
}

// Nothing where the text is no value of that kind.
std::optional<AttributeValue> parse_kind(AttributeKind kind, std::string_view text) {
  switch (kind) {
    // Two words only: "yes" or "1" may be a mistake.
    case AttributeKind::kFlag:
      if (text == "true") return true;
      if (text == "false") return false;
      return std::nullopt;
    case AttributeKind::kInteger:
      return as_value(parse_number<int64_t>(text));
    case AttributeKind::kNumber:
      return as_value(parse_number<double>(text));
    case AttributeKind::kText:
      return std::string(text);
    case AttributeKind::kIntegers:
      return as_value(parse_list<int64_t>(text));
    case AttributeKind::kNumbers:
      return as_value(parse_list<double>(text));
  }
  return std::nullopt;
}

// Completes "it must be ...".
std::string_view wanted_text(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kFlag:
      return "true or false";
    case AttributeKind::kInteger:
      return "an integer of 64 bits";
    case AttributeKind::kNumber:
      return "a number";
    case AttributeKind::kText:
      return "text";
    case AttributeKind::kIntegers:
      return "a list of integers like [2, -1]";
    case AttributeKind::kNumbers:
      return "a list of numbers like [0.5, 2]";
  }
  return "a value";
}

struct NameAndText {
  std::string_view name;
  std::string_view text;
};

Result<NameAndText> split(std::string_view flag, std::string_view argument) {
  // The first '=': values and paths may hold more.
  const size_t equals = argument.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return fail::invalid("'{} {}' has no name: it must be NAME=VALUE.", flag, argument);
  }
  return NameAndText{argument.substr(0, equals), argument.substr(equals + 1)};
}

std::string known_attributes(const OpDef& op) {
  if (op.attributes.empty()) return "it has none";
  std::string names;
  for (const AttributeDef& def : op.attributes) {
    names += (names.empty() ? "" : ", ") + def.name;
  }
  return "it has " + names;
}

std::string names_of(std::span<const PortDef> ports) {
  if (ports.empty()) return "none";
  std::string names;
  for (size_t i = 0; i < ports.size(); ++i) {
    names += (names.empty() ? "" : ", ") + input_name(ports, i);
    if (ports[i].is_variadic) names += fmt::format(", {} and so on", input_name(ports, i + 1));
  }
  return names;
}

// Position of the input `name`. Values of a variadic port may all be given under the port's own
// name: then they count in the order of the command line.
std::optional<size_t> position_of(std::span<const PortDef> ports, std::string_view name,
                                  std::span<const PortValue> before, bool is_repeated) {
  const size_t last = ports.size() - 1;
  const bool is_list = ports.back().is_variadic && name == ports.back().name;
  const auto port = find_input(ports, name);
  if (!is_list || (port && !is_repeated)) return port;
  return last + static_cast<size_t>(std::ranges::count_if(
                    before, [last](const PortValue& value) { return value.port >= last; }));
}

// Inputs and outputs follow the same rules; `flag` is what messages call them.
Result<std::vector<PortValue>> bind_names(const OpDef& op, std::span<const PortDef> ports,
                                          std::span<const std::string> texts,
                                          std::string_view flag) {
  const bool is_repeated = !ports.empty() && std::ranges::count_if(texts, [&](const auto& text) {
                                               return text.starts_with(ports.back().name + "=");
                                             }) > 1;
  std::vector<PortValue> values;
  for (const std::string& argument : texts) {
    QUERN_ASSIGN_OR_RETURN(const NameAndText given, split(flag, argument));
    const std::optional<size_t> port =
        ports.empty() ? std::nullopt : position_of(ports, given.name, values, is_repeated);
    if (!port) {
      return fail::invalid("{} has no {} '{}'; there are: {}.", op.id, flag.substr(2), given.name,
                           names_of(ports));
    }
    if (given.text.empty()) {
      return fail::invalid("'{} {}' names no file.", flag, argument);
    }
    const bool is_double = std::ranges::find(values, *port, &PortValue::port) != values.end();
    if (is_double) return fail::invalid("'{}' gives port '{}' twice.", flag, given.name);
    values.push_back({*port, std::string(given.name), std::string(given.text)});
  }
  // Callers walk the ports in order.
  std::ranges::sort(values, {}, &PortValue::port);
  return values;
}

}  // namespace

Result<AttributeValue> parse_attribute(const OpDef& op, const AttributeDef& attribute,
                                       std::string_view text) {
  const auto value = parse_kind(attribute.kind, text);
  // Choices of a text are checked where the graph is made, as for any graph.
  if (!value) {
    return fail::invalid("Attribute '{}' of {} is '{}'; it must be {}.", attribute.name, op.id,
                         text, wanted_text(attribute.kind));
  }
  return *value;
}

Result<Attributes> parse_attributes(const OpDef& op, std::span<const std::string> texts) {
  Attributes attributes;
  for (const std::string& argument : texts) {
    QUERN_ASSIGN_OR_RETURN(const NameAndText given, split("--attr", argument));
    const AttributeDef* def = op.find_attribute(given.name);
    if (def == nullptr) {
      return fail::invalid("{} has no attribute '{}'; {}.", op.id, given.name,
                           known_attributes(op));
    }
    if (attributes.find(given.name) != nullptr) {
      return fail::invalid("Attribute '{}' is given twice.", given.name);
    }
    QUERN_ASSIGN_OR_RETURN(AttributeValue value, parse_attribute(op, *def, given.text));
    attributes.set(def->name, std::move(value));
  }
  return attributes;
}

Result<std::vector<PortValue>> bind_inputs(const OpDef& op, const Attributes& attributes,
                                           std::span<const std::string> texts) {
  // Some operations have other ports with form=table.
  const std::vector<PortDef> ports = op.input_ports(attributes);
  QUERN_ASSIGN_OR_RETURN(std::vector<PortValue> values, bind_names(op, ports, texts, "--input"));
  for (size_t port = 0; port < ports.size(); ++port) {
    const bool is_given = std::ranges::find(values, port, &PortValue::port) != values.end();
    if (!is_given && !ports[port].is_optional) {
      return fail::invalid("{} needs its input '{}'; its inputs are: {}.", op.id, ports[port].name,
                           names_of(ports));
    }
  }
  // Values of a variadic port have no gaps.
  if (ports.empty() || !ports.back().is_variadic) return values;
  size_t next = ports.size() - 1;
  for (const PortValue& value : values) {
    if (value.port < ports.size() - 1) continue;
    if (value.port != next++) {
      return fail::invalid("{} has a gap before its input '{}'.", op.id,
                           input_name(ports, value.port));
    }
  }
  return values;
}

Result<std::vector<PortValue>> bind_outputs(const OpDef& op, std::span<const std::string> texts) {
  return bind_names(op, op.outputs, texts, "--output");
}

}  // namespace quern
