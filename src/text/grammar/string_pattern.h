// Regular expressions of JSON schemas (ECMA-262) as grammars of JSON strings.
#pragma once

#include <string_view>

#include "quern/error.h"
#include "text/grammar/json_rules.h"

namespace quern {

// The string with its quotes. As the standard says, a pattern without ^ or $ may match anywhere.
// Knows characters, escapes, . [] () (?:) | * + ? {m,n} and \d \w \s with their opposites.
// Errors: kUnimplemented for look-around, back-references, \b, \p and anchors inside;
// kInvalidArgument for a broken pattern; both with the position.
Result<ExprId> string_pattern(GrammarAst& ast, JsonRules& rules, std::string_view pattern);

}  // namespace quern
