// GBNF, the grammar notation of llama.cpp: `root ::= "a" [0-9]+ | other{2,3}  # comment`.
#pragma once

#include <string_view>

#include "quern/error.h"
#include "text/grammar/grammar_ast.h"

namespace quern {

// Larger grammars are refused before they are read.
inline constexpr size_t kMaxGrammarBytes = size_t{1} << 20;
inline constexpr int kMaxGrammarDepth = 200;         // nested groups
inline constexpr size_t kMaxGrammarExprs = 200'000;  // parts of all rules
// Rules and their expressions stay small enough to be checked in a moment.
inline constexpr size_t kMaxGrammarRules = 20'000;
inline constexpr uint32_t kMaxGrammarRepeats = 100'000;  // a bound in {m,n}

// Rules `name ::= alternates`, one per line; names of letters, digits, '-' and '_'. Alternates go
// on over lines inside parentheses, after '::=' and around '|'. Parts: "text", [class], [^class],
// . (any), rule names, (groups), each with * + ? {m} {m,} {m,n}. Escapes: \n \r \t \\ \" \[ \] \-
// \^
// \/ \xHH \uHHHH \UHHHHHHHH (code points). The text starts from the rule `root`.
// Errors: kInvalidArgument with line and column of the fault; those of check_grammar().
Result<GrammarAst> parse_gbnf(std::string_view text);

}  // namespace quern
