// Building expressions.
// Expressions are numbers in a list, so that a tree can be built in any order and shared.
#include "text/grammar/grammar_ast.h"

#include <utility>

namespace quern {

// Expressions refer to others by id: the tree has no owner but the AST.
ExprId GrammarAst::add(GrammarExpr expr) {
  exprs_.push_back(std::move(expr));
  return static_cast<ExprId>(exprs_.size() - 1);
}

// The empty text matches nothing more.
ExprId GrammarAst::text(std::string_view utf8) {
  return add({.kind = GrammarExpr::Kind::kText, .text = std::string(utf8)});
}

// One code point of the set.
ExprId GrammarAst::char_class(CodeSet set) {
  constexpr CodeRange kSurrogates{0xD800, 0xDFFF};  // have no UTF-8 form
  return add({.kind = GrammarExpr::Kind::kClass, .set = difference(set, {kSurrogates})});
}

// One item is itself.
ExprId GrammarAst::sequence(std::vector<ExprId> items) {
  if (items.size() == 1) return items.front();
  return add({.kind = GrammarExpr::Kind::kSequence, .items = std::move(items)});
}

// The same.
ExprId GrammarAst::choice(std::vector<ExprId> items) {
  if (items.size() == 1) return items.front();
  return add({.kind = GrammarExpr::Kind::kChoice, .items = std::move(items)});
}

// `max` may be kUnbounded.
ExprId GrammarAst::repeat(ExprId item, uint32_t min, uint32_t max) {
  return add({.kind = GrammarExpr::Kind::kRepeat, .items = {item}, .min = min, .max = max});
}

// A use of the rule, which may be defined later.
ExprId GrammarAst::rule(RuleId id) {
  return add({.kind = GrammarExpr::Kind::kRule, .rule = id});
}

// Names are for errors; equal ones do not meet.
RuleId GrammarAst::declare(std::string name) {
  rules_.push_back({std::move(name), 0});
  return static_cast<RuleId>(rules_.size() - 1);
}

void GrammarAst::name_shared_parts() {
  std::vector<uint32_t> num_uses(exprs_.size(), 0);
  for (const GrammarExpr& expr : exprs_) {
    for (const ExprId item : expr.items) ++num_uses[item];
  }
  // A rule's body counts as a use, so that a body that stands elsewhere too is shared.
  for (const GrammarRule& rule : rules_) ++num_uses[rule.body];
  std::vector<ExprId> replacement(exprs_.size());
  const size_t num_rules = rules_.size();
  for (ExprId id = 0; id < num_uses.size(); ++id) {
    replacement[id] = id;
    // Texts, classes and rules have no parts: to meet them again costs nothing.
    if (num_uses[id] < 2 || exprs_[id].items.empty()) continue;
    const RuleId shared = declare("part");
    define(shared, id);
    replacement[id] = rule(shared);
  }
  for (ExprId id = 0; id < num_uses.size(); ++id) {
    for (ExprId& item : exprs_[id].items) item = replacement[item];
  }
  // The rules that were made here hold the parts themselves.
  for (RuleId id = 0; id < num_rules; ++id) rules_[id].body = replacement[rules_[id].body];
}

}  // namespace quern
