// Numbers from text, as Python's int() and float() read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace quern::jinja {

// White space around, a sign and single underscores between digits are allowed; base 16, 8 and 2
// allow their prefix, and base 0 chooses by it. nullopt where the text is no integer of 64 bits.
std::optional<int64_t> parse_integer(std::string_view text, int base);
// Also "inf", "infinity" and "nan" in any case.
std::optional<double> parse_float(std::string_view text);

// The integer below or above towards zero; nullopt where it does not fit in 64 bits.
std::optional<int64_t> truncate_to_integer(double number);

}  // namespace quern::jinja
