// Look-up and substitution. Variables are resolved once, each after those it uses.
// Whole values keep their kind; references inside of a text become text.
#include "formats/manifest/variables.h"

#include <charconv>
#include <functional>
#include <optional>
#include <set>

#include "formats/manifest/integer_expression.h"

namespace quern::manifest {
namespace {

using Lookup = std::function<Result<YamlNode>(std::string_view name)>;

// Errors name the variable.
Result<int64_t> integer_of(const YamlNode& value, std::string_view name) {
  int64_t integer = 0;
  const char* end = value.text.data() + value.text.size();
  const auto parsed = std::from_chars(value.text.data(), end, integer);
  if (value.is_scalar() && parsed.ec == std::errc{} && parsed.ptr == end) return integer;
  return fail::invalid("Variable '{}' is {}; arithmetic needs an integer.", name,
                       value.is_scalar() ? "'" + value.text + "'" : std::string(value.kind_name()));
}

// The value of what stands between ${ and }.
Result<YamlNode> evaluate(std::string_view text, const Place& place, const Lookup& lookup) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (is_variable_name(text)) {
    QUERN_ASSIGN_OR_RETURN(YamlNode value, lookup(text));
    value.place = place;
    return value;
  }
  const NameLookup integers = [&](std::string_view name) -> Result<int64_t> {
    QUERN_ASSIGN_OR_RETURN(const YamlNode value, lookup(name));
    return integer_of(value, name);
  };
  QUERN_ASSIGN_OR_RETURN(const int64_t integer, evaluate_expression(text, integers));
  return YamlNode{
      .kind = YamlNode::Kind::kScalar, .place = place, .text = fmt::format("{}", integer)};
}

// A text that is one reference only becomes what that stands for, of any kind; else the parts are
// put together as text.
Result<YamlNode> substitute_scalar(const YamlNode& node, const Lookup& lookup) {
  std::string_view rest = node.text;
  YamlNode result{.kind = node.kind, .place = node.place, .is_quoted = node.is_quoted};
  while (true) {
    const size_t dollar = rest.find("${");
    result.text += rest.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    rest.remove_prefix(dollar + 2);
    // The dollar is already in the result and "${" was taken off: with the brace it is "${" as
    // text.
    if (result.text.ends_with('$')) {  // "$${": the first dollar was the escape
      result.text += '{';
      continue;
    }
    const size_t close = rest.find('}');
    if (close == std::string_view::npos)
      return fail::invalid("'{}' has a ${{ without }}.", node.text);
    QUERN_ASSIGN_OR_RETURN(YamlNode value, evaluate(rest.substr(0, close), node.place, lookup));
    rest.remove_prefix(close + 1);
    // Nothing before and nothing behind: the value itself, which may be a list.
    if (rest.empty() && result.text.empty()) return value;
    if (!value.is_scalar()) {
      return fail::invalid("'{}' puts {} into text; only a scalar fits.", node.text,
                           value.kind_name());
    }
    result.text += value.text;
    if (result.text.size() > kMaxTextBytes) {
      return fail::invalid("A text grows past {} characters.", kMaxTextBytes);
    }
  }
  return result;
}

// Whether there is anything to replace: most values have none.
bool has_reference(const YamlNode& node) {
  return node.is_scalar() && node.text.find("${") != std::string::npos;
}

// The same in a whole tree.
Result<YamlNode> substitute_tree(const YamlNode& node, const Lookup& lookup) {
  if (has_reference(node)) {
    auto value = substitute_scalar(node, lookup);
    if (!value) return error_at(node.place, value.error());
    return value;
  }
  YamlNode result{
      .kind = node.kind, .place = node.place, .text = node.text, .is_quoted = node.is_quoted};
  for (const YamlNode& item : node.items) {
    QUERN_ASSIGN_OR_RETURN(YamlNode value, substitute_tree(item, lookup));
    result.items.push_back(std::move(value));
  }
  for (const auto& [key, member] : node.members) {
    QUERN_ASSIGN_OR_RETURN(YamlNode value, substitute_tree(member, lookup));
    result.members.emplace_back(key, std::move(value));
  }
  return result;
}

using Values = std::map<std::string, YamlNode, std::less<>>;

// The value of `name` in `values`: an entry, or an item of the list that the name's front names.
Result<YamlNode> find_value(const Values& values, std::string_view name) {
  if (const auto it = values.find(name); it != values.end()) return it->second;
  // "a.b.0" is item 0 of the list "a.b".
  const size_t dot = name.rfind('.');
  if (dot != std::string_view::npos) {
    const auto list = values.find(name.substr(0, dot));
    size_t index = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + dot + 1, end, index);
    const bool is_index = parsed.ec == std::errc{} && parsed.ptr == end;
    if (list != values.end() && is_index && index < list->second.items.size()) {
      return list->second.items[index];
    }
  }
  return fail::not_found("There is no variable '{}'.", name);
}

// Maps of maps to dotted paths.
Result<void> flatten(const YamlNode& tree, const std::string& prefix, Values& values) {
  for (const auto& [key, value] : tree.members) {
    const std::string path = prefix + key;
    if (!is_variable_name(path) || key.find('.') != std::string::npos) {
      return error_at(value.place, fmt::format("'{}' is not a name for a variable; letters, digits "
                                               "and _ make one.",
                                               key));
    }
    if (value.is_map()) {
      QUERN_TRY(flatten(value, path + ".", values));
      continue;
    }
    values.insert_or_assign(path, value);
  }
  return {};
}

// Resolves variables in the order of their uses.
class Resolver {
 public:
  // Borrows the values and resolves them in place.
  explicit Resolver(Values& values) : values_(values) {}

  // The value of a name with dots. Errors: unknown, or a circle.
  Result<YamlNode> resolve(std::string_view name) {
    // An item of a list needs the whole list.
    auto it = values_.find(name);
    if (it == values_.end()) it = values_.find(name.substr(0, name.rfind('.')));
    if (it == values_.end()) return fail::not_found("There is no variable '{}'.", name);
    if (!done_.contains(it->first)) QUERN_TRY(resolve_entry(it->first, it->second));
    return find_value(values_, name);
  }

 private:
  // A variable's own value may use others.
  Result<void> resolve_entry(const std::string& name, YamlNode& value) {
    if (!open_.insert(name).second) {
      return error_at(value.place, fmt::format("Variable '{}' depends on itself.", name));
    }
    // The recursion follows chains of variables, which a file may make as long as it likes.
    if (open_.size() > kMaxYamlDepth) {
      return error_at(value.place,
                      fmt::format("Variables use each other more than {} deep.", kMaxYamlDepth));
    }
    QUERN_ASSIGN_OR_RETURN(
        value, substitute_tree(value, [this](std::string_view used) { return resolve(used); }));
    for (const YamlNode& item : value.items) {
      if (!item.is_scalar()) {
        return error_at(item.place, fmt::format("Variable '{}' holds {} in its list; only scalars "
                                                "fit.",
                                                name, item.kind_name()));
      }
    }
    if (value.is_map() || value.is_null()) {
      return error_at(value.place, fmt::format("Variable '{}' is {}.", name, value.kind_name()));
    }
    open_.erase(name);
    done_.insert(name);
    return {};
  }

  Values& values_;
  std::set<std::string, std::less<>> open_;
  std::set<std::string, std::less<>> done_;
};

}  // namespace

Result<Variables> Variables::make(const YamlNode* tree,
                                  const std::map<std::string, std::string>& overrides) {
  Variables variables;
  if (tree != nullptr && !tree->is_null()) {
    if (!tree->is_map()) {
      return error_at(tree->place,
                      fmt::format("'variables' is {}; a map is needed.", tree->kind_name()));
    }
    QUERN_TRY(flatten(*tree, "", variables.values_));
  }
  for (const auto& [name, text] : overrides) {
    const auto it = variables.values_.find(name);
    if (it == variables.values_.end()) {
      return fail::not_found("The manifest has no variable '{}' to set.", name);
    }
    it->second = {.kind = YamlNode::Kind::kScalar, .place = it->second.place, .text = text};
  }
  Resolver resolver(variables.values_);
  std::vector<std::string> names;
  for (const auto& [name, value] : variables.values_) names.push_back(name);
  // Names first: resolving replaces values in the map, and unused variables are checked too.
  for (const std::string& name : names) QUERN_TRY(resolver.resolve(name));
  return variables;
}

// Resolved when the variables were made.
Result<YamlNode> Variables::value(std::string_view name) const {
  return find_value(values_, name);
}

// Errors: those of expressions and names, with the place of the value.
Result<YamlNode> substitute(const YamlNode& node, const Scope& scope) {
  const Lookup lookup = [&](std::string_view name) -> Result<YamlNode> {
    // Innermost first, though index_name() lets none hide another.
    for (auto it = scope.indices.rbegin(); it != scope.indices.rend(); ++it) {
      if (it->first != name) continue;
      return YamlNode{.kind = YamlNode::Kind::kScalar, .text = fmt::format("{}", it->second)};
    }
    return scope.variables->value(name);
  };
  return substitute_tree(node, lookup);
}

}  // namespace quern::manifest
