// The escapes of string literals.
#pragma once

#include <string>
#include <string_view>

#include "quern/error.h"

namespace quern::jinja {

// The value of a literal's inside, with Python's escapes ("\n", "\x41", "\u20ac", "\101").
// Surrogate pairs become one character, other surrogates U+FFFD.
Result<std::string> resolve_escapes(std::string_view text);

}  // namespace quern::jinja
