// Left recursion and rules without a finite text: what a matcher could never finish.
// Both are least solutions over all rules, found by looking at the users of each rule that changed.
#include <algorithm>
#include <numeric>
#include <set>

#include "base/fail.h"
#include "text/grammar/grammar_ast.h"

namespace quern {
namespace {

using Kind = GrammarExpr::Kind;

// Checks before compiling: what would loop or can never match.
class Checker {
 public:
  // Borrows the AST.
  explicit Checker(const GrammarAst& ast)
      : ast_(ast), nullable_(ast.rules().size(), false), finite_(ast.rules().size(), false) {}

  // The first error, or none.
  Result<void> run() {
    for (const GrammarExpr& expr : ast_.exprs()) {
      if ((expr.kind == Kind::kClass && expr.set.empty()) ||
          (expr.kind == Kind::kChoice && expr.items.empty())) {
        return fail::invalid("The grammar has a character class that matches nothing.");
      }
    }
    users_.resize(ast_.rules().size());
    for (RuleId id = 0; id < users_.size(); ++id) collect_users(ast_.rules()[id].body, id);
    solve(nullable_, [&](ExprId id) { return is_nullable(id); });
    solve(finite_, [&](ExprId id) { return is_finite(id); });
    for (size_t i = 0; i < ast_.rules().size(); ++i) {
      if (finite_[i]) continue;
      return fail::invalid("The rule '{}' of the grammar matches no finite text.",
                           ast_.rules()[i].name);
    }
    return check_left_recursion();
  }

 private:
  // The least solution over all rules: a rule that holds has its users looked at again.
  template <class Holds>
  void solve(std::vector<bool>& value, Holds&& holds) {
    std::vector<RuleId> work(value.size());
    // All rules at first; then only those that use a rule that has just come to hold. Each rule
    // holds once, so the work is bounded by the uses.
    std::iota(work.begin(), work.end(), 0U);
    while (!work.empty()) {
      const RuleId id = work.back();
      work.pop_back();
      if (value[id] || !holds(ast_.rules()[id].body)) continue;
      value[id] = true;
      work.insert(work.end(), users_[id].begin(), users_[id].end());
    }
  }

  // Which rules use an expression's rules.
  void collect_users(ExprId id, RuleId user) {
    const GrammarExpr& expr = ast_.expr(id);
    if (expr.kind == Kind::kRule) users_[expr.rule].insert(user);
    for (const ExprId child : expr.items) collect_users(child, user);
  }

  // Whether it can match the empty text.
  bool is_nullable(ExprId id) const {
    const GrammarExpr& expr = ast_.expr(id);
    const auto item = [&](ExprId child) { return is_nullable(child); };
    switch (expr.kind) {
      case Kind::kText:
        return expr.text.empty();
      case Kind::kClass:
        return false;
      case Kind::kSequence:
        return std::all_of(expr.items.begin(), expr.items.end(), item);
      case Kind::kChoice:
        return std::any_of(expr.items.begin(), expr.items.end(), item);
      case Kind::kRepeat:
        return expr.min == 0 || is_nullable(expr.items[0]);
      case Kind::kRule:
        return nullable_[expr.rule];
    }
    return false;
  }

  // Whether it can match any text at all.
  bool is_finite(ExprId id) const {
    const GrammarExpr& expr = ast_.expr(id);
    const auto item = [&](ExprId child) { return is_finite(child); };
    switch (expr.kind) {
      case Kind::kText:
        return true;
      case Kind::kClass:
        return !expr.set.empty();
      case Kind::kSequence:
        return std::all_of(expr.items.begin(), expr.items.end(), item);
      case Kind::kChoice:
        return std::any_of(expr.items.begin(), expr.items.end(), item);
      case Kind::kRepeat:
        return expr.min == 0 || is_finite(expr.items[0]);
      case Kind::kRule:
        return finite_[expr.rule];
    }
    return false;
  }

  // Rules that an expression can enter before it consumes anything.
  void collect_first(ExprId id, std::set<RuleId>& rules) const {
    const GrammarExpr& expr = ast_.expr(id);
    if (expr.kind == Kind::kRule) rules.insert(expr.rule);
    for (const ExprId child : expr.items) {
      collect_first(child, rules);
      // What follows a part that reads something is not entered before it.
      if (expr.kind == Kind::kSequence && !is_nullable(child)) return;
    }
  }

  // Colours of the search for left recursion.
  enum class Visit : uint8_t { kNew, kOpen, kDone };
  // A rule on the path, and the expressions at its begin.
  struct Step {
    RuleId rule;
    size_t next = 0;
  };

  // A rule that begins with itself would never read a byte.
  Result<void> check_left_recursion() {
    for (const GrammarRule& rule : ast_.rules()) {
      std::set<RuleId> rules;
      collect_first(rule.body, rules);
      first_.emplace_back(rules.begin(), rules.end());
    }
    visits_.assign(first_.size(), Visit::kNew);
    for (RuleId start = 0; start < first_.size(); ++start) {
      if (visits_[start] == Visit::kNew) QUERN_TRY(search_from(start));
    }
    return {};
  }

  // Depth first without recursion: chains of rules are as long as the file wants.
  Result<void> search_from(RuleId start) {
    std::vector<Step> path = {{start}};
    visits_[start] = Visit::kOpen;
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next == first_[step.rule].size()) {
        visits_[step.rule] = Visit::kDone;
        path.pop_back();
        continue;
      }
      const RuleId next = first_[step.rule][step.next++];
      if (visits_[next] == Visit::kOpen) return left_recursive(path, next);
      if (visits_[next] != Visit::kNew) continue;
      visits_[next] = Visit::kOpen;
      path.push_back({next});
    }
    return {};
  }

  // Names the rules of the circle.
  tl::unexpected<Error> left_recursive(const std::vector<Step>& path, RuleId again) const {
    std::string chain;
    for (const Step& step : path) {
      if (step.rule == again || !chain.empty()) chain += ast_.rules()[step.rule].name + " -> ";
    }
    return fail::invalid("The grammar is left-recursive: {}{}.", chain, ast_.rules()[again].name);
  }

  const GrammarAst& ast_;
  std::vector<std::set<RuleId>> users_;
  std::vector<bool> nullable_;
  std::vector<bool> finite_;
  std::vector<std::vector<RuleId>> first_;
  std::vector<Visit> visits_;
};

}  // namespace

// Errors: kInvalidArgument, naming the rule.
Result<void> check_grammar(const GrammarAst& ast) {
  return Checker(ast).run();
}

}  // namespace quern
