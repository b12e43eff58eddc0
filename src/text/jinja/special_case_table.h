// Characters whose upper or title case is more than one character.
#pragma once

#include <cstdint>
#include <string_view>

namespace quern::jinja {

// A character that becomes several in some case (SpecialCasing.txt of Unicode), which the simple
// mappings of the library do not have.
struct SpecialCase {
  // The character, and its forms in UTF-8.
  uint32_t code_point;
  std::string_view upper;  // UTF-8
  std::string_view title;
};

// nullptr where upper and title case are single characters.
const SpecialCase* find_special_case(uint32_t code_point);

}  // namespace quern::jinja
