// A tree of the names: at each node the text may leave the tree, or end where no name does.
#include "text/grammar/other_names.h"

#include <map>
#include <string_view>

#include "text/utf8.h"

namespace quern {
namespace {

// A node of the tree of names.
struct Node {
  std::map<uint32_t, size_t> children;
  bool is_name = false;
};

// Names by their characters; a node is an end where a name ends.
std::vector<Node> make_tree(const std::vector<std::string>& names) {
  std::vector<Node> nodes(1);
  for (std::string_view name : names) {
    size_t node = 0;
    while (!name.empty()) {
      const Utf8Step step = decode_utf8(name);
      name.remove_prefix(step.size);
      const auto [child, is_new] = nodes[node].children.emplace(step.code_point, nodes.size());
      node = child->second;
      if (is_new) nodes.emplace_back();
    }
    nodes[node].is_name = true;
  }
  return nodes;
}

// What may follow at `node`. Each node with branches is a rule, so that depth is no recursion here.
ExprId rest_of(GrammarAst& ast, const Node& node, const std::vector<RuleId>& rules) {
  std::vector<ExprId> ways;
  if (!node.is_name) ways.push_back(ast.text(""));
  CodeSet leaving = plain_json_chars();
  for (const auto& [code_point, child] : node.children) {
    // Such a character is written as an escape, which other names do not use: the branch is out of
    // reach.
    if (!contains(plain_json_chars(), code_point)) continue;
    leaving = difference(leaving, {{code_point, code_point}});
    const ExprId step = ast.char_class({{code_point, code_point}});
    ways.push_back(ast.sequence({step, ast.rule(rules[child])}));
  }
  // Once out of the tree the name is another one, whatever follows.
  const ExprId any = ast.repeat(ast.char_class(plain_json_chars()), 0, kUnbounded);
  ways.push_back(ast.sequence({ast.char_class(leaving), any}));
  return ast.choice(std::move(ways));
}

}  // namespace

// Any name but these: leaves the tree at some character, or ends inside of it.
ExprId other_name(GrammarAst& ast, const std::vector<std::string>& names) {
  const std::vector<Node> nodes = make_tree(names);
  std::vector<RuleId> rules;
  for (size_t i = 0; i < nodes.size(); ++i) rules.push_back(ast.declare("other-name"));
  for (size_t i = 0; i < nodes.size(); ++i) ast.define(rules[i], rest_of(ast, nodes[i], rules));
  return ast.sequence({ast.text("\""), ast.rule(rules[0]), ast.text("\"")});
}

}  // namespace quern
