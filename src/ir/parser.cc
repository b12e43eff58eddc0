// Reads the text form of graphs. Line based; the type after ':' is checked against the inferred.
#include <charconv>
#include <cstdlib>

#include "base/fail.h"
#include "ir/tensor_type.h"
#include "quern/graph.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == ':' || c == '-' || c == '/';
}

// A cursor over one line.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) {}

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool is_end() {
    skip_spaces();
    return at_ >= text_.size() || text_[at_] == '#';
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  Result<void> expect(std::string_view token) {
    if (accept(token)) return {};
    return error(fmt::format("'{}' is expected here", token));
  }
  Result<std::string> name() {
    skip_spaces();
    const size_t start = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    if (at_ == start) return error("a name is expected here");
    return std::string(text_.substr(start, at_ - start));
  }
  Result<AttributeValue> attribute_value();
  // Up to and without the closing ']' and an '@layout'.
  Result<std::string> type_text() {
    skip_spaces();
    const size_t start = at_;
    const size_t close = text_.find(']', at_);
    if (close == std::string_view::npos) return error("a type such as f32[T, 64] is expected here");
    at_ = close + 1;
    if (at_ < text_.size() && text_[at_] == '@') {
      while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != ',') ++at_;
    }
    return std::string(text_.substr(start, at_ - start));
  }
  tl::unexpected<Error> error(std::string_view what) const {
    return fail::invalid("Line {}, column {}: {}.", number_, at_ + 1, what);
  }

 private:
  Result<std::string> quoted_text();
  Result<AttributeValue> number();
  template <class T>
  Result<AttributeValue> list();

  std::string_view text_;
  int number_;
  size_t at_ = 0;
};

Result<std::string> Line::quoted_text() {
  std::string value;
  for (++at_; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return value;
    }
    if (c != '\\') {
      value += c;
    } else if (++at_ < text_.size()) {
      value += text_[at_] == 'n' ? '\n' : text_[at_];
    }
  }
  return error("the text has no closing quote");
}

Result<AttributeValue> Line::number() {
  skip_spaces();
  const size_t start = at_;
  while (at_ < text_.size() && (is_name_char(text_[at_]) || text_[at_] == '+')) ++at_;
  const std::string word(text_.substr(start, at_ - start));
  int64_t integer = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), integer);
  if (parsed.ec == std::errc{} && parsed.ptr == word.data() + word.size()) return integer;
  double value = 0;
  const auto real = std::from_chars(word.data(), word.data() + word.size(), value);
  if (real.ec == std::errc{} && real.ptr == word.data() + word.size()) return value;
  return error(fmt::format("'{}' is not a value", word));
}

template <class T>
Result<AttributeValue> Line::list() {
  std::vector<T> values;
  if (accept("]")) return AttributeValue(values);
  while (true) {
    QUERN_ASSIGN_OR_RETURN(const AttributeValue value, number());
    if (const auto* typed = std::get_if<T>(&value)) {
      values.push_back(*typed);
    } else if (const auto* integer = std::get_if<int64_t>(&value)) {
      values.push_back(static_cast<T>(*integer));
    } else {
      return error("the list mixes kinds of numbers");
    }
    if (accept("]")) return AttributeValue(values);
    QUERN_TRY(expect(","));
  }
}

Result<AttributeValue> Line::attribute_value() {
  if (accept("true")) return AttributeValue(true);
  if (accept("false")) return AttributeValue(false);
  if (accept("f[")) return list<double>();
  if (accept("[")) return list<int64_t>();
  skip_spaces();
  if (at_ < text_.size() && text_[at_] == '"') {
    QUERN_ASSIGN_OR_RETURN(std::string text, quoted_text());
    return AttributeValue(std::move(text));
  }
  return number();
}

class Parser {
 public:
  explicit Parser(const OpRegistry& registry) : builder_(registry) {}

  Result<void> parse_line(Line& line) {
    if (line.accept("state ")) return parse_state(line);
    if (line.accept("output ")) return parse_output(line);
    return parse_node(line);
  }
  Result<Graph> finish() { return builder_.finish(); }

 private:
  Result<Attributes> attributes(Line& line) {
    Attributes result;
    if (!line.accept("{") || line.accept("}")) return result;
    while (true) {
      QUERN_ASSIGN_OR_RETURN(const std::string name, line.name());
      QUERN_TRY(line.expect("="));
      QUERN_ASSIGN_OR_RETURN(AttributeValue value, line.attribute_value());
      result.set(name, std::move(value));
      if (line.accept("}")) return result;
      QUERN_TRY(line.expect(","));
    }
  }
  Result<void> parse_state(Line& line) {
    QUERN_TRY(line.expect("@"));
    StateDecl state;
    QUERN_ASSIGN_OR_RETURN(state.name, line.name());
    QUERN_TRY(line.expect(": "));
    QUERN_ASSIGN_OR_RETURN(state.kind, line.name());
    QUERN_ASSIGN_OR_RETURN(state.attributes, attributes(line));
    builder_.state(std::move(state));
    return end(line);
  }
  Result<void> parse_output(Line& line) {
    QUERN_ASSIGN_OR_RETURN(const std::string name, line.name());
    QUERN_TRY(line.expect("="));
    QUERN_ASSIGN_OR_RETURN(const ValueId value, value_ref(line));
    builder_.output(name, value);
    return end(line);
  }
  Result<ValueId> value_ref(Line& line) {
    QUERN_TRY(line.expect("%"));
    QUERN_ASSIGN_OR_RETURN(const std::string name, line.name());
    const auto it = values_.find(name);
    if (it == values_.end()) return line.error(fmt::format("'%{}' is not defined above", name));
    return it->second;
  }
  Result<std::vector<ValueId>> operands(Line& line) {
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
  Result<void> parse_node(Line& line) {
    QUERN_TRY(line.expect("%"));
    QUERN_ASSIGN_OR_RETURN(const std::string name, line.name());
    QUERN_TRY(line.expect("="));
    QUERN_ASSIGN_OR_RETURN(const std::string op, line.name());
    QUERN_ASSIGN_OR_RETURN(const auto inputs, operands(line));
    QUERN_ASSIGN_OR_RETURN(Attributes given, attributes(line));
    builder_.add(op, inputs, std::move(given), name);
    if (builder_.has_error()) {
      const auto built = builder_.finish();
      return line.error(built.error().message);
    }
    QUERN_TRY(check_types(line, builder_.last_outputs()));
    return remember(name, op, builder_.last_outputs());
  }
  Result<void> check_types(Line& line, std::span<const ValueId> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!line.accept(i == 0 ? ":" : ",")) break;
      QUERN_ASSIGN_OR_RETURN(const std::string text, line.type_text());
      QUERN_ASSIGN_OR_RETURN(const TensorType stated, parse_tensor_type(text));
      const TensorType& inferred = *builder_.type(outputs[i]);
      if (stated.to_string() != inferred.to_string()) {
        return line.error(fmt::format("the type {} is stated, but the operation gives {}",
                                      stated.to_string(), inferred.to_string()));
      }
    }
    return end(line);
  }
  Result<void> remember(const std::string& name, const std::string& op,
                        std::span<const ValueId> outputs) {
    const OpDef* def = builder_op(op);
    for (size_t i = 0; i < outputs.size(); ++i) {
      values_[outputs.size() == 1 ? name : name + ":" + def->outputs[i].name] = outputs[i];
    }
    return {};
  }
  const OpDef* builder_op(const std::string& op) const { return registry_->find(op); }
  static Result<void> end(Line& line) {
    if (line.is_end()) return {};
    return line.error("the line goes on after its end");
  }

  friend Result<Graph> quern::parse_graph(std::string_view, const OpRegistry&);
  const OpRegistry* registry_ = nullptr;
  GraphBuilder builder_;
  std::map<std::string, ValueId> values_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const OpRegistry& registry) {
  Parser parser(registry);
  parser.registry_ = &registry;
  int number = 0;
  bool is_open = false;
  bool is_closed = false;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    Line line(text.substr(0, end), ++number);
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
