// Reads the text form of graphs. Line based; the type after ':' is checked against the inferred.
#include <map>
#include <set>

#include "base/fail.h"
#include "ir/tensor_type.h"
#include "ir/text_cursor.h"
#include "quern/graph.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {
namespace {

// Builds the graph while it reads, so that every error can name its line. Value names are those of
// the text.
class Parser {
 public:
  explicit Parser(const OpRegistry& registry) : builder_(registry) {}

  Result<void> parse_line(TextCursor& line) {
    // A node's line begins with '%', so no name can be taken for a keyword.
    if (line.accept_word("state")) return parse_state(line);
    if (line.accept_word("output")) return parse_output(line);
    return parse_node(line);
  }
  Result<Graph> finish() { return builder_.finish(); }

 private:
  // The grammar; blanks may stand between any two tokens, names are runs of letters, digits,
  // "_.:-/":
  //   graph   = "graph" "{" line* "}"
  //   line    = state | node | output
  //   value   = "%" NAME                 NAME is "node", or "node:port" of a node with several
  //   types   = ":" TYPE ("," TYPE)*     TYPE is "f32[T, 64]", perhaps with "@layout"

  // state @NAME : KIND {attributes}
  Result<void> parse_state(TextCursor& line) {
    QUERN_TRY(line.expect("@"));
    StateDecl state;
    QUERN_ASSIGN_OR_RETURN(state.name, line.name());
    QUERN_TRY(line.expect(":"));
    QUERN_ASSIGN_OR_RETURN(state.kind, line.name());
    QUERN_ASSIGN_OR_RETURN(state.attributes, line.attributes());
    builder_.state(std::move(state));
    QUERN_TRY(check_builder(line));
    return end(line);
  }
  // output NAME = %VALUE
  Result<void> parse_output(TextCursor& line) {
    QUERN_ASSIGN_OR_RETURN(const std::string name, line.name());
    QUERN_TRY(line.expect("="));
    QUERN_ASSIGN_OR_RETURN(const ValueId value, value_ref(line));
    // The verifier would find it too, but without the line.
    if (!outputs_.insert(name).second)
      return line.error(fmt::format("the output name '{}' is used twice", name));
    builder_.output(name, value);
    QUERN_TRY(check_builder(line));
    return end(line);
  }
  // A value that a line above defined: the text form has no forward references.
  Result<ValueId> value_ref(TextCursor& line) {
    QUERN_TRY(line.expect("%"));
    QUERN_ASSIGN_OR_RETURN(const std::string name, line.name());
    const auto it = values_.find(name);
    if (it == values_.end()) return line.error(fmt::format("'%{}' is not defined above", name));
    return it->second;
  }
  // "(%a, _, %b)": values, or "_" for an absent input.
  Result<std::vector<ValueId>> operands(TextCursor& line) {
    std::vector<ValueId> ids;
    QUERN_TRY(line.expect("("));
    if (line.accept(")")) return ids;
    while (true) {
      if (line.accept("_")) {
        ids.push_back(kNoValue);
      } else {
        QUERN_ASSIGN_OR_RETURN(const ValueId id, value_ref(line));
        ids.push_back(id);
      }
      if (line.accept(")")) return ids;
      QUERN_TRY(line.expect(","));
    }
  }
  // %NAME = OP(operands) {attributes} @DEVICE : types
  Result<void> parse_node(TextCursor& line) {
    QUERN_TRY(line.expect("%"));
    QUERN_ASSIGN_OR_RETURN(const std::string name, line.name());
    QUERN_TRY(line.expect("="));
    QUERN_ASSIGN_OR_RETURN(const std::string op, line.name());
    QUERN_ASSIGN_OR_RETURN(const auto inputs, operands(line));
    // Defaults are left out of the text; add() fills them in.
    QUERN_ASSIGN_OR_RETURN(Attributes given, line.attributes());
    builder_.add(op, inputs, std::move(given), name);
    if (line.accept("@")) {
      QUERN_ASSIGN_OR_RETURN(std::string device, line.name());
      builder_.set_device(std::move(device));
    }
    QUERN_TRY(check_builder(line));
    QUERN_TRY(check_types(line, builder_.last_outputs()));
    return remember(name, op, builder_.last_outputs());
  }
  // The builder knows what is wrong, this line knows where: the message is repeated behind the
  // place, whose sentence brings the full stop.
  Result<void> check_builder(const TextCursor& line) {
    if (!builder_.has_error()) return {};
    std::string message = builder_.finish().error().message;
    if (message.ends_with('.')) message.pop_back();
    return line.error(message);
  }
  // Stated types must be the inferred ones; they may be left out from any place on.
  Result<void> check_types(TextCursor& line, std::span<const ValueId> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!line.accept(i == 0 ? ":" : ",")) break;
      QUERN_ASSIGN_OR_RETURN(const std::string text, line.type_text());
      QUERN_ASSIGN_OR_RETURN(const TensorType stated, parse_tensor_type(text));
      const TensorType& inferred = *builder_.type(outputs[i]);
      // By text, which leaves out a row-major layout on both sides. A stated type that differs
      // means that the text was written for another meaning of the operation.
      if (stated.to_string() != inferred.to_string()) {
        return line.error(fmt::format("the type {} is stated, but the operation gives {}",
                                      stated.to_string(), inferred.to_string()));
      }
    }
    return end(line);
  }
  // Makes the values of the node known to the lines below.
  Result<void> remember(const std::string& name, const std::string& op,
                        std::span<const ValueId> outputs) {
    // Not null: add() has just found the operation.
    const OpDef* def = builder_op(op);
    for (size_t i = 0; i < outputs.size(); ++i) {
      values_[outputs.size() == 1 ? name : name + ":" + def->outputs[i].name] = outputs[i];
    }
    return {};
  }
  const OpDef* builder_op(const std::string& op) const { return registry_->find(op); }
  // Nothing but a comment may follow.
  static Result<void> end(TextCursor& line) {
    if (line.is_end()) return {};
    return line.error("the line goes on after its end");
  }

  friend Result<Graph> quern::parse_graph(std::string_view, const OpRegistry&);
  const OpRegistry* registry_ = nullptr;
  GraphBuilder builder_;
  std::map<std::string, ValueId> values_;
  std::set<std::string> outputs_;
};

}  // namespace

// Line by line: a frame of "graph {" and "}", blank lines and comments anywhere.
Result<Graph> parse_graph(std::string_view text, const OpRegistry& registry) {
  Parser parser(registry);
  parser.registry_ = &registry;
  int number = 0;
  bool is_open = false;
  bool is_closed = false;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    TextCursor line(text.substr(0, end), ++number);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.is_end()) continue;
    if (is_closed) return line.error("text stands after the graph's end");
    if (!is_open) {
      QUERN_TRY(line.expect("graph"));
      QUERN_TRY(line.expect("{"));
      is_open = true;
    } else if (line.accept("}")) {
      is_closed = true;
    } else {
      QUERN_TRY(parser.parse_line(line));
    }
  }
  if (!is_closed) return fail::invalid("The graph's text ends at line {} without '}}'.", number);
  return parser.finish();
}

}  // namespace quern
