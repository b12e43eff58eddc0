// Integers between two bounds, as decimal text.
#pragma once

#include <cstdint>
#include <optional>

#include "text/grammar/grammar_ast.h"

namespace quern {

// Without leading zeros or "-0". A missing bound allows 16 digits on its side (or as many as the
// other bound has). low <= high where both are given, each above the lowest int64.
ExprId integer_range(GrammarAst& ast, std::optional<int64_t> low, std::optional<int64_t> high);

}  // namespace quern
