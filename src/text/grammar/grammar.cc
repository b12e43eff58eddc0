// From text to program.
// Checks come between: what they refuse would make the automaton loop.
#include "text/grammar/grammar.h"

#include "text/grammar/gbnf_parser.h"
#include "text/grammar/grammar_automaton.h"

namespace quern {

// Parse, check, compile.
Result<Grammar> Grammar::parse(std::string_view gbnf) {
  QUERN_ASSIGN_OR_RETURN(const GrammarAst ast, parse_gbnf(gbnf));
  return compile(ast);
}

// The same for a tree that was made by program. Errors: of check_grammar() and compile_grammar().
Result<Grammar> Grammar::compile(const GrammarAst& ast) {
  GrammarAst tree = ast;
  tree.name_shared_parts();
  QUERN_TRY(check_grammar(tree));
  QUERN_ASSIGN_OR_RETURN(GrammarProgram program, compile_grammar(tree));
  return Grammar(std::make_shared<const GrammarProgram>(std::move(program)));
}

// Errors: kResourceExhausted where the text makes too many states.
Result<bool> Grammar::matches(std::string_view text) const {
  GrammarMatcher matcher(*this);
  QUERN_ASSIGN_OR_RETURN(const bool fits, matcher.push(text));
  return fits && matcher.can_end();
}

}  // namespace quern
