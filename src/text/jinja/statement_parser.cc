// Tags.
// Each function reads one tag, its body and its end.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/parser.h"

namespace quern::jinja {

// Whether one of these end tags is next.
bool Parser::at_end_tag(Names end_names) const {
  return current().kind == TokenKind::kBlockBegin && next().kind == TokenKind::kName &&
         std::find(end_names.begin(), end_names.end(), next().text) != end_names.end();
}

// Statements up to one of the end tags, which stays.
Result<Block> Parser::parse_block(Names end_names) {
  Block block;
  while (current().kind != TokenKind::kEnd && !at_end_tag(end_names)) {
    QUERN_TRY(parse_statement(block));
  }
  if (current().kind == TokenKind::kEnd && end_names.size() > 0) {
    // Of several end tags the last one is named: it is the one that must come.
    return unexpected(fmt::format("'{{% {} %}}'", *(end_names.end() - 1)));
  }
  return block;
}

// The end tag, and that nothing else stands in it.
Result<void> Parser::parse_end(std::string_view end_name) {
  QUERN_TRY(expect(TokenKind::kBlockBegin, "'{%'"));
  QUERN_TRY(expect_name(end_name));
  return expect(TokenKind::kBlockEnd, "'%}'");
}

// Text, an output, or a tag.
Result<void> Parser::parse_statement(Block& block) {
  const Token& token = current();
  const NestingGuard guard(*this);
  QUERN_TRY(check_nesting());
  advance();
  if (token.kind == TokenKind::kText) {
    block.push_back({token.offset, TextStatement{token.text}});
    return {};
  }
  if (token.kind == TokenKind::kOutputBegin) {
    QUERN_ASSIGN_OR_RETURN(ExprPtr value, parse_tuple());
    QUERN_TRY(expect(TokenKind::kOutputEnd, "'}}'"));
    block.push_back({token.offset, OutputStatement{std::move(value)}});
    return {};
  }
  const Token& name = current();
  if (token.kind != TokenKind::kBlockBegin || name.kind != TokenKind::kName) {
    return unexpected("the name of a tag");
  }
  advance();
  QUERN_ASSIGN_OR_RETURN(Statement::Node node, parse_tag(name));
  block.push_back({token.offset, std::move(node)});
  return {};
}

// By the tag's name. Errors: an unknown tag, with its name.
Result<Statement::Node> Parser::parse_tag(const Token& name) {
  if (name.text == "for") return parse_for();
  if (name.text == "if") return parse_if();
  if (name.text == "set") return parse_set();
  if (name.text == "macro") return parse_macro();
  if (name.text == "call") return parse_call_block();
  if (name.text == "filter") return parse_filter_block();
  if (name.text == "with") return parse_with();
  if (name.text == "generation") return parse_generation();
  if (name.text == "break") return parse_loop_control(true);
  if (name.text == "continue") return parse_loop_control(false);
  if (name.text == "do") {
    QUERN_ASSIGN_OR_RETURN(ExprPtr value, parse_tuple());
    QUERN_TRY(expect(TokenKind::kBlockEnd, "'%}'"));
    return DoStatement{std::move(value)};
  }
  for (const std::string_view known :
       // Tags of Jinja, which need other templates or settings that a chat template has not.
       {"autoescape", "block", "extends", "from", "import", "include", "print"}) {
    if (name.text != known) continue;
    return fail_at(name.offset,
                   fail::unimplemented("Chat templates cannot use the tag '{}'", name.text));
  }
  return fail_at(name.offset, fail::invalid("The tag '{}' does not exist here", name.text));
}

// for, with its condition and else.
Result<Statement::Node> Parser::parse_for() {
  ForStatement loop;
  QUERN_ASSIGN_OR_RETURN(loop.target, parse_target(false));
  QUERN_TRY(expect_name("in"));
  QUERN_ASSIGN_OR_RETURN(loop.iterable, parse_tuple(false));
  if (skip_name("if")) {
    QUERN_ASSIGN_OR_RETURN(loop.condition, parse_expression());
  }
  if (current().is_name("recursive")) {
    return fail_at(current().offset,
                   fail::unimplemented("Chat templates cannot use recursive loops"));
  }
  skip_operator(":");
  QUERN_TRY(expect(TokenKind::kBlockEnd, "'%}'"));
  // break and continue may stand in the body only: `else` runs when there was no round.
  ++num_loops_;
  QUERN_ASSIGN_OR_RETURN(loop.body, parse_block({"else", "endfor"}));
  --num_loops_;
  if (next().is_name("else")) {
    QUERN_TRY(parse_end("else"));
    QUERN_ASSIGN_OR_RETURN(loop.otherwise, parse_block({"endfor"}));
  }
  QUERN_TRY(parse_end("endfor"));
  return loop;
}

// if, elif and else.
Result<Statement::Node> Parser::parse_if() {
  IfStatement statement;
  while (true) {
    IfStatement::Branch branch;
    QUERN_ASSIGN_OR_RETURN(branch.condition, parse_tuple(false));
    skip_operator(":");
    QUERN_TRY(expect(TokenKind::kBlockEnd, "'%}'"));
    QUERN_ASSIGN_OR_RETURN(branch.body, parse_block({"elif", "else", "endif"}));
    statement.branches.push_back(std::move(branch));
    if (!next().is_name("elif")) break;
    advance();
    advance();
  }
  if (next().is_name("else")) {
    QUERN_TRY(parse_end("else"));
    QUERN_ASSIGN_OR_RETURN(statement.otherwise, parse_block({"endif"}));
  }
  QUERN_TRY(parse_end("endif"));
  return statement;
}

// set with a value, or a block up to endset.
Result<Statement::Node> Parser::parse_set() {
  QUERN_ASSIGN_OR_RETURN(Target target, parse_target(true));
  if (skip_operator("=")) {
    QUERN_ASSIGN_OR_RETURN(ExprPtr value, parse_tuple());
    QUERN_TRY(expect(TokenKind::kBlockEnd, "'%}'"));
    return SetStatement{std::move(target), std::move(value)};
  }
  SetBlockStatement block;
  block.target = std::move(target);
  if (skip_operator("|")) {
    QUERN_ASSIGN_OR_RETURN(block.filters, parse_filter_chain());
  }
  // Whoever wrote neither a value nor the end of the tag most likely forgot the value.
  QUERN_TRY(expect(TokenKind::kBlockEnd, "'='"));
  QUERN_ASSIGN_OR_RETURN(block.body, parse_block({"endset"}));
  QUERN_TRY(parse_end("endset"));
  return block;
}

// (a, b=1): parameters without fallback may not follow those with one.
Result<void> Parser::parse_parameters(MacroStatement& macro) {
  QUERN_TRY(expect_operator("("));
  while (!current().is_operator(")")) {
    if (!macro.parameters.empty()) QUERN_TRY(expect_operator(","));
    MacroStatement::Parameter parameter;
    const uint32_t offset = current().offset;
    QUERN_ASSIGN_OR_RETURN(parameter.name, take_name("the name of a parameter"));
    for (const MacroStatement::Parameter& earlier : macro.parameters) {
      if (earlier.name != parameter.name) continue;
      return fail_at(offset, fail::invalid("Parameter '{}' stands twice", parameter.name));
    }
    if (skip_operator("=")) {
      QUERN_ASSIGN_OR_RETURN(parameter.fallback, parse_expression());
    } else if (!macro.parameters.empty() && macro.parameters.back().fallback != nullptr) {
      return fail_at(offset, fail::invalid("Parameter '{}' has no default and follows one with",
                                           parameter.name));
    }
    macro.parameters.push_back(std::move(parameter));
  }
  advance();
  return {};
}

// The body, and which of caller, varargs and kwargs it mentions.
Result<void> Parser::parse_macro_body(MacroStatement& macro, std::string_view end_name) {
  QUERN_TRY(expect(TokenKind::kBlockEnd, "'%}'"));
  const size_t begin = position_;
  // A macro may be called from anywhere, so loops around its definition are none of its own.
  const int num_outer_loops = std::exchange(num_loops_, 0);
  QUERN_ASSIGN_OR_RETURN(macro.body, parse_block({end_name}));
  num_loops_ = num_outer_loops;
  // Found among the tokens, so an attribute of that name counts as well; Jinja looks at the tree.
  // It decides whether a call may pass more arguments than there are parameters.
  for (const Token& token : tokens_.subspan(begin, position_ - begin)) {
    macro.uses_caller |= token.is_name("caller");
    macro.uses_varargs |= token.is_name("varargs");
    macro.uses_kwargs |= token.is_name("kwargs");
  }
  return parse_end(end_name);
}

// macro name(parameters).
Result<Statement::Node> Parser::parse_macro() {
  MacroStatement macro;
  QUERN_ASSIGN_OR_RETURN(macro.name, take_name("the name of a macro"));
  QUERN_TRY(parse_parameters(macro));
  QUERN_TRY(parse_macro_body(macro, "endmacro"));
  return macro;
}

// call(parameters) macro(arguments).
Result<Statement::Node> Parser::parse_call_block() {
  CallStatement statement;
  statement.caller.name = "caller";
  if (current().is_operator("(")) QUERN_TRY(parse_parameters(statement.caller));
  const uint32_t offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(statement.call, parse_expression());
  // The block is passed as `caller`, and only a call can take it.
  if (!std::holds_alternative<CallExpr>(statement.call->node)) {
    return fail_at(offset, fail::invalid("The tag 'call' needs a call"));
  }
  QUERN_TRY(parse_macro_body(statement.caller, "endcall"));
  return statement;
}

// filter a | b.
Result<Statement::Node> Parser::parse_filter_block() {
  FilterStatement statement;
  QUERN_ASSIGN_OR_RETURN(statement.filters, parse_filter_chain());
  QUERN_TRY(expect(TokenKind::kBlockEnd, "'%}'"));
  QUERN_ASSIGN_OR_RETURN(statement.body, parse_block({"endfilter"}));
  QUERN_TRY(parse_end("endfilter"));
  return statement;
}

// with a=1, b=2.
Result<Statement::Node> Parser::parse_with() {
  ScopeStatement statement;
  while (current().kind != TokenKind::kBlockEnd) {
    if (!statement.variables.empty()) QUERN_TRY(expect_operator(","));
    QUERN_ASSIGN_OR_RETURN(Target target, parse_single_target(false));
    QUERN_TRY(expect_operator("="));
    QUERN_ASSIGN_OR_RETURN(ExprPtr value, parse_expression());
    statement.variables.emplace_back(std::move(target), std::move(value));
  }
  advance();
  QUERN_ASSIGN_OR_RETURN(statement.body, parse_block({"endwith"}));
  QUERN_TRY(parse_end("endwith"));
  return statement;
}

// Marks what the assistant wrote, for training; the text is the same without.
Result<Statement::Node> Parser::parse_generation() {
  QUERN_TRY(expect(TokenKind::kBlockEnd, "'%}'"));
  ScopeStatement statement;
  // In transformers the block is the body of a call, which no break can leave.
  const int num_outer_loops = std::exchange(num_loops_, 0);
  QUERN_ASSIGN_OR_RETURN(statement.body, parse_block({"endgeneration"}));
  num_loops_ = num_outer_loops;
  QUERN_TRY(parse_end("endgeneration"));
  return statement;
}

// Errors: outside of any loop.
Result<Statement::Node> Parser::parse_loop_control(bool is_break) {
  if (num_loops_ == 0) {
    return fail_at(current().offset, fail::invalid("The tag '{}' stands outside of a loop",
                                                   is_break ? "break" : "continue"));
  }
  QUERN_TRY(expect(TokenKind::kBlockEnd, "'%}'"));
  if (is_break) return BreakStatement{};
  return ContinueStatement{};
}

// A name, or namespace.attribute where `set` allows it.
Result<Target> Parser::parse_single_target(bool allows_attribute) {
  const NestingGuard guard(*this);
  QUERN_TRY(check_nesting());
  if (skip_operator("(")) {
    QUERN_ASSIGN_OR_RETURN(Target target, parse_target(allows_attribute));
    QUERN_TRY(expect_operator(")"));
    return target;
  }
  Target target;
  target.offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(target.name, take_name("a name to assign to"));
  for (const std::string_view constant : {"true", "True", "false", "False", "none", "None"}) {
    if (target.name != constant) continue;
    return fail_at(target.offset, fail::invalid("'{}' cannot be assigned to", target.name));
  }
  if (allows_attribute && skip_operator(".")) {
    QUERN_ASSIGN_OR_RETURN(target.attribute, take_name("an attribute to assign to"));
  }
  return target;
}

// One target, or several with commas between them.
Result<Target> Parser::parse_target(bool allows_attribute) {
  QUERN_ASSIGN_OR_RETURN(Target first, parse_single_target(allows_attribute));
  if (!current().is_operator(",")) return first;
  Target target;
  target.offset = first.offset;
  target.parts.push_back(std::move(first));
  while (skip_operator(",")) {
    if (current().kind != TokenKind::kName && !current().is_operator("(")) break;
    // `for a, in pairs`: a comma at the end unpacks a tuple of one.
    if (current().is_name("in")) break;
    QUERN_ASSIGN_OR_RETURN(Target part, parse_single_target(allows_attribute));
    target.parts.push_back(std::move(part));
  }
  return target;
}

}  // namespace quern::jinja
