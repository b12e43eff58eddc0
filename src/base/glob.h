// Names that match a pattern with wildcards.
#pragma once

#include <string_view>

namespace quern {

// Whether the whole text is of the pattern's form: '*' stands for any text, `any_one` for any one
// byte (0: nothing does). At most as many steps as the two lengths multiplied.
bool matches_glob(std::string_view pattern, std::string_view text, char any_one = '?');

}  // namespace quern
