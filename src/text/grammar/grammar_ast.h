// A grammar as a tree, from GBNF text or a JSON schema, before it is compiled.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/grammar/code_set.h"

namespace quern {

using ExprId = uint32_t;
using RuleId = uint32_t;

// No upper bound.
inline constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

// An expression; which members count follows from the kind.
struct GrammarExpr {
  // What it matches.
  enum class Kind : uint8_t {
    kText,      // `text`, code point by code point; "" is the empty word
    kClass,     // one code point of `set`
    kSequence,  // `items` one after the other
    kChoice,    // one of `items`; none: matches nothing
    kRepeat,    // items[0], `min` to `max` times
    kRule,      // `rule`
  };
  Kind kind = Kind::kText;
  std::string text = {};
  CodeSet set = {};
  std::vector<ExprId> items = {};
  uint32_t min = 0;
  uint32_t max = kUnbounded;
  RuleId rule = 0;
};

// A name and what it stands for.
struct GrammarRule {
  std::string name;
  ExprId body = 0;
};

// Expressions are referred to by index; one may be used several times.
class GrammarAst {
 public:
  // Makers of expressions; ids are those of this AST.
  ExprId text(std::string_view utf8);
  ExprId char_class(CodeSet set);
  ExprId sequence(std::vector<ExprId> items);  // a single item is returned as it is
  ExprId choice(std::vector<ExprId> items);    // likewise
  ExprId repeat(ExprId item, uint32_t min, uint32_t max);
  // Once, or not at all.
  ExprId optional(ExprId item) { return repeat(item, 0, 1); }
  ExprId rule(RuleId id);

  // A rule whose body comes later.
  RuleId declare(std::string name);
  // A rule is defined once; check_grammar() finds those that are not.
  void define(RuleId id, ExprId body) { rules_[id].body = body; }

  const GrammarExpr& expr(ExprId id) const { return exprs_[id]; }
  const std::vector<GrammarExpr>& exprs() const { return exprs_; }
  const std::vector<GrammarRule>& rules() const { return rules_; }
  RuleId root() const { return root_; }
  void set_root(RuleId id) { root_ = id; }

  // Gives each expression that stands in several places a rule of its own. Walks over the rest meet
  // every expression once: nested sharing would make them as long as 2 to the depth.
  void name_shared_parts();

 private:
  ExprId add(GrammarExpr expr);

  std::vector<GrammarExpr> exprs_;
  std::vector<GrammarRule> rules_;
  RuleId root_ = 0;
};

// Errors: kInvalidArgument for a rule that is left-recursive (the message has the chain of rules)
// or that matches no finite text.
Result<void> check_grammar(const GrammarAst& ast);

}  // namespace quern
