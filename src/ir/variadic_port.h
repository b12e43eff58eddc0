// Names for the values of a variadic port, which the operation declares once.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/op.h"

namespace quern {

// How value `index` of a variadic port is called: by the letters from the port's own on where that
// is one letter ("a", "b", "c", ...), else by the port's name and the index ("operands3"). Names
// that run past 'z' go on with the index: "x3" after "z".
std::string variadic_value_name(const PortDef& port, size_t index);

// The reverse: the index that `name` means, or nothing.
std::optional<size_t> variadic_value_index(const PortDef& port, std::string_view name);

// The port of an operation's input `index`, where all are counted: "x", or a value's name where the
// last port is variadic. `ports` must not be empty.
std::string input_name(std::span<const PortDef> ports, size_t index);

// Where the input `name` stands among all inputs; nothing where there is no such port.
std::optional<size_t> find_input(std::span<const PortDef> ports, std::string_view name);

}  // namespace quern
