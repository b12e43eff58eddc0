// JSON strings that differ from given ones: the names of additional members.
#pragma once

#include <string>
#include <vector>

#include "text/grammar/json_rules.h"

namespace quern {

// In quotes, of characters that need no escape, so that a name has one form only.
ExprId other_name(GrammarAst& ast, const std::vector<std::string>& names);

}  // namespace quern
