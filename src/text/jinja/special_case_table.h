// Characters whose upper or title case is more than one character.
#pragma once

#include <cstdint>
#include <string_view>

namespace quern::jinja {

struct SpecialCase {
  uint32_t code_point;
  std::string_view upper;  // UTF-8
  std::string_view title;
};

// nullptr where upper and title case are single characters.
const SpecialCase* find_special_case(uint32_t code_point);

}  // namespace quern::jinja
