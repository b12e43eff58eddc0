// A grammar that texts can be held to.
#pragma once

#include <memory>
#include <string_view>

#include "quern/error.h"
#include "text/grammar/grammar_ast.h"
#include "text/grammar/grammar_program.h"

namespace quern {

// Thread-safe; copies share the program.
class Grammar {
 public:
  // GBNF text; errors as of parse_gbnf() and compile_grammar().
  static Result<Grammar> parse(std::string_view gbnf);
  // Errors: of check_grammar() and compile_grammar().
  static Result<Grammar> compile(const GrammarAst& ast);

  // Shared by all matchers of the grammar.
  const std::shared_ptr<const GrammarProgram>& program() const { return program_; }

  // Whether the whole text matches.
  // Errors: kResourceExhausted when the grammar is too ambiguous (GrammarAutomaton).
  Result<bool> matches(std::string_view text) const;

 private:
  // Made by parse() and compile().
  explicit Grammar(std::shared_ptr<const GrammarProgram> program) : program_(std::move(program)) {}
  std::shared_ptr<const GrammarProgram> program_;
};

}  // namespace quern
