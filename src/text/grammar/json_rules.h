// The parts of JSON as grammar rules.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "text/grammar/grammar_ast.h"

namespace quern {

// Each part becomes one rule at its first use. No white space around the parts.
class JsonRules {
 public:
  // Borrows the AST; each rule is made once, when it is first asked for.
  explicit JsonRules(GrammarAst& ast) : ast_(ast) {}

  // Nothing, a space, or a line break with an indent: bounded, so that a model cannot stay in it.
  ExprId space();
  // Values of one type.
  ExprId boolean();
  ExprId null();
  ExprId integer();                           // at most 16 digits
  ExprId number();                            // is_finite as float64
  ExprId non_negative_number();               // likewise
  ExprId string(uint32_t min, uint32_t max);  // length in code points
  // Of any content.
  ExprId value();
  ExprId object();
  ExprId array();

  // One code point inside a string, as itself or as an escape.
  ExprId string_char();
  // One code point of the set, in the shortest form that JSON has for it.
  ExprId char_of(const CodeSet& set);
  // `name` in quotes, ':' and a value.
  ExprId member(ExprId name, ExprId value);
  // { members } or [ items ] with white space; `content` begins and ends without.
  ExprId enclosed(char open, ExprId content, bool can_be_empty, char close);
  // item (, item)* as often as said.
  ExprId list(ExprId item, uint32_t min, uint32_t max);
  // ", " before the part.
  ExprId comma_then(ExprId part);

 private:
  template <class Body>
  ExprId rule(const char* name, Body&& body);
  ExprId unsigned_integer();
  ExprId fraction_and_exponent();
  ExprId digits(uint32_t min, uint32_t max);
  ExprId hex(uint32_t count);

  // And the rules by name.
  GrammarAst& ast_;
  std::map<std::string, RuleId> rules_;
};

// A string as it stands in a text of JSON, quotes included.
std::string json_quoted(std::string_view utf8);
// Code points that stand for themselves inside a string.
const CodeSet& plain_json_chars();

}  // namespace quern
