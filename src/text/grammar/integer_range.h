// Integers between two bounds, as decimal text.
// Bounds are wider than 64 bits, since JSON's integers are of any size.
#pragma once

#include <cstdint>
#include <optional>

#include "text/grammar/grammar_ast.h"

namespace quern {

__extension__ using WideInteger = __int128;

// Without leading zeros or "-0". A missing bound allows 16 digits on its side, or as many as the
// other bound has. low <= high where both are given, each of at most 38 digits.
ExprId integer_range(GrammarAst& ast, std::optional<WideInteger> low,
                     std::optional<WideInteger> high);

}  // namespace quern
