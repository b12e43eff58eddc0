// Typed access to attributes and their text.
#include <fmt/format.h>
#include <cmath>

#include "base/check.h"
#include "base/fail.h"
#include "quern/graph.h"

namespace quern {
namespace {

// Shortest text that parses back to the same double, always marked as one.
std::string number_text(double value) {
  // One text for every NaN: sign and payload are no part of a number's meaning here.
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  // Without it 5.0 would read back as the integer 5, which is another kind and hashes otherwise.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Line breaks are the only bytes that a line of text cannot hold.
std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text + '"';
}

// Type rules and kernels ask for what their operation declares; complete_attributes() put it there.
template <class T>
const T& get(const Attributes& attributes, std::string_view name) {
  const AttributeValue* value = attributes.find(name);
  QUERN_CHECK(value != nullptr && std::holds_alternative<T>(*value));
  return std::get<T>(*value);
}

}  // namespace

// The text that the parser reads back to the same value and kind.
std::string attribute_to_string(const AttributeValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
    return fmt::format("[{}]", fmt::join(*integers, ", "));
  }
  // The "f" keeps an empty list and a list of whole numbers apart from lists of integers.
  std::string text = "f[";
  const auto& numbers = std::get<std::vector<double>>(value);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += ", ";
    text += number_text(numbers[i]);
  }
  return text + "]";
}

const AttributeValue* Attributes::find(std::string_view name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}
bool Attributes::flag(std::string_view name) const {
  return get<bool>(*this, name);
}
int64_t Attributes::integer(std::string_view name) const {
  return get<int64_t>(*this, name);
}
double Attributes::number(std::string_view name) const {
  return get<double>(*this, name);
}
const std::string& Attributes::text(std::string_view name) const {
  return get<std::string>(*this, name);
}
const std::vector<int64_t>& Attributes::integers(std::string_view name) const {
  return get<std::vector<int64_t>>(*this, name);
}
const std::vector<double>& Attributes::numbers(std::string_view name) const {
  return get<std::vector<double>>(*this, name);
}

}  // namespace quern
