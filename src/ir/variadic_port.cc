// Letters first: that is what the tables of operations call the ports of sums and joins.
#include "ir/variadic_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace quern {
namespace {

// How many letters there are from the port's own to 'z'; none for longer names.
size_t num_letters(const PortDef& port) {
  const bool is_letter = port.name.size() == 1 && port.name[0] >= 'a' && port.name[0] <= 'z';
  return is_letter ? static_cast<size_t>('z' - port.name[0]) + 1 : 0;
}

}  // namespace

std::string variadic_value_name(const PortDef& port, size_t index) {
  if (index < num_letters(port)) {
    return std::string(1, static_cast<char>(port.name[0] + static_cast<char>(index)));
  }
  return fmt::format("{}{}", port.name, index);
}

// Only the name that variadic_value_name() gives: a value has one name.
std::optional<size_t> variadic_value_index(const PortDef& port, std::string_view name) {
  const size_t letters = num_letters(port);
  if (name.size() == 1 && letters > 0) {
    const bool is_one = name[0] >= port.name[0] && name[0] <= 'z';
    return is_one ? std::optional<size_t>(name[0] - port.name[0]) : std::nullopt;
  }
  if (!name.starts_with(port.name)) return std::nullopt;
  const std::string_view digits = name.substr(port.name.size());
  uint32_t index = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (code != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (variadic_value_name(port, index) != name) return std::nullopt;
  return index;
}

std::string input_name(std::span<const PortDef> ports, size_t index) {
  const size_t last = ports.size() - 1;
  if (index < last || !ports.back().is_variadic) return ports[std::min(index, last)].name;
  return variadic_value_name(ports.back(), index - last);
}

std::optional<size_t> find_input(std::span<const PortDef> ports, std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].is_variadic) {
      const auto index = variadic_value_index(ports[i], name);
      if (index) return i + *index;
    } else if (ports[i].name == name) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace quern
