// References, combinations, values and the choice of types.
// What a grammar cannot hold is refused where it would let wrong texts pass in silence, and listed
// where it is a hint.
#include "text/grammar/schema_converter.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/fail.h"
#include "text/grammar/gbnf_parser.h"

namespace quern {
namespace {

// Of convert(), which recurses; references start anew, as rules.
constexpr int kMaxConvertDepth = 128;
// allOf and $ref may nest this deep before they are taken for a circle.
constexpr int kMaxFlattenDepth = 64;
constexpr int kMaxMerges = 4096;  // of the whole document
// Bounds on lengths and counts: a grammar holds them by repeating.
constexpr uint32_t kMaxCount = 100'000;

// What a grammar cannot hold and what would change the structure.
constexpr std::array<std::string_view, 14> kRefused = {"not",
                                                       "if",
                                                       "then",
                                                       "else",
                                                       "patternProperties",
                                                       "dependentRequired",
                                                       "dependentSchemas",
                                                       "dependencies",
                                                       "unevaluatedProperties",
                                                       "unevaluatedItems",
                                                       "$dynamicRef",
                                                       "$recursiveRef",
                                                       "propertyNames",
                                                       "additionalItems"};

// Keywords that the grammar holds.
constexpr std::array<std::string_view, 26> kHeld = {"$ref",
                                                    "type",
                                                    "enum",
                                                    "const",
                                                    "properties",
                                                    "required",
                                                    "anyOf",
                                                    "oneOf",
                                                    "allOf",
                                                    "items",
                                                    "prefixItems",
                                                    "minItems",
                                                    "maxItems",
                                                    "minLength",
                                                    "maxLength",
                                                    "pattern",
                                                    "format",
                                                    "minimum",
                                                    "maximum",
                                                    "exclusiveMinimum",
                                                    "exclusiveMaximum",
                                                    "minProperties",
                                                    "maxProperties",
                                                    "additionalProperties",
                                                    "multipleOf",
                                                    "uniqueItems"};

// Keywords that tell a type where none is given.
struct Hint {
  std::string_view keyword;
  std::string_view type;
};
// Keywords that change nothing a grammar could hold, and what is said of them.
constexpr std::array<Hint, 17> kHints = {{
    {"properties", "object"},
    {"required", "object"},
    {"additionalProperties", "object"},
    {"minProperties", "object"},
    {"maxProperties", "object"},
    {"items", "array"},
    {"prefixItems", "array"},
    {"minItems", "array"},
    {"maxItems", "array"},
    {"pattern", "string"},
    {"format", "string"},
    {"minLength", "string"},
    {"maxLength", "string"},
    {"minimum", "number"},
    {"maximum", "number"},
    {"exclusiveMinimum", "number"},
    {"exclusiveMaximum", "number"},
}};

// A linear search.
template <class List>
bool is_in(const List& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// A type of the list, or the one type.
bool has_type(const SchemaJson& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == value.type_name();
}

// true, or no keyword at all.
bool says_nothing(const SchemaJson& schema) {
  return std::all_of(schema.items().begin(), schema.items().end(),
                     [](const auto& item) { return is_annotation(item.key()); });
}

}  // namespace

// Each keyword is named once.
void SchemaConverter::not_enforced(const std::string& keyword, const std::string& place) {
  std::string text = fmt::format("{} at {}", keyword, place);
  if (!is_in(unenforced_, text)) unenforced_.push_back(std::move(text));
}

// The root rule and all that it needs.
Result<GrammarAst> SchemaConverter::run() {
  const RuleId root = ast_.declare("root");
  ast_.set_root(root);
  references_.emplace("#", root);
  ExprId body = 0;
  if (document_.is_object() && says_nothing(document_)) {
    body = rules_.object();
  } else {
    QUERN_ASSIGN_OR_RETURN(body, convert(document_, "#"));
  }
  ast_.define(root, body);
  return std::move(ast_);
}

// Errors: a keyword that would change what is accepted.
Result<void> SchemaConverter::check_keywords(const SchemaJson& schema, const std::string& place) {
  for (const auto& [keyword, value] : schema.items()) {
    if (is_in(kRefused, keyword)) {
      return fail::unimplemented(
          "The keyword '{}' at {} of the schema cannot be held by a grammar.", keyword, place);
    }
    if (!is_in(kHeld, keyword) && !is_annotation(keyword)) not_enforced(keyword, place);
  }
  return {};
}

// A schema anywhere in the document; `place` is its path, for errors.
Result<ExprId> SchemaConverter::convert(const SchemaJson& schema, const std::string& place) {
  if (schema == SchemaJson(true)) return rules_.value();
  if (schema == SchemaJson(false)) return fail::invalid("Nothing fits the schema at {}.", place);
  if (!schema.is_object()) {
    return fail::invalid("The schema at {} is {}, not an object.", place, schema.type_name());
  }
  if (depth_ >= kMaxConvertDepth || ast_.exprs().size() > kMaxGrammarExprs) {
    return fail::invalid("The schema at {} is nested over {} deep or needs over {} parts.", place,
                         kMaxConvertDepth, kMaxGrammarExprs);
  }
  const auto only_annotated = [&] {
    return std::all_of(schema.items().begin(), schema.items().end(), [](const auto& item) {
      return item.key() == "$ref" || is_annotation(item.key());
    });
  };
  if (schema.contains("$ref") && only_annotated()) return convert_reference(schema["$ref"], place);
  QUERN_ASSIGN_OR_RETURN(const SchemaJson flat, flatten(schema, place));
  ++depth_;
  auto result = convert_flat(flat, place);
  --depth_;
  return result;
}

// After allOf and $ref are merged.
Result<ExprId> SchemaConverter::convert_flat(const SchemaJson& schema, const std::string& place) {
  if (schema == SchemaJson(false)) return fail::invalid("Nothing fits the schema at {}.", place);
  QUERN_TRY(check_keywords(schema, place));
  if (schema.contains("anyOf")) return convert_options(schema, "anyOf", place);
  if (schema.contains("oneOf")) {
    not_enforced("oneOf (as anyOf)", place);
    return convert_options(schema, "oneOf", place);
  }
  if (schema.contains("const") || schema.contains("enum")) return convert_values(schema, place);
  return convert_types(schema, place);
}

// Each option together with what stands beside the keyword.
Result<ExprId> SchemaConverter::convert_options(const SchemaJson& schema,
                                                const std::string& keyword,
                                                const std::string& place) {
  const SchemaJson& options = schema[keyword];
  if (!options.is_array() || options.empty()) {
    return fail::invalid("'{}' at {} of the schema is not a list of schemas.", keyword, place);
  }
  SchemaJson rest = schema;
  rest.erase(keyword);
  std::vector<ExprId> choices;
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string option_place = fmt::format("{}/{}/{}", place, keyword, i);
    if (options[i] == SchemaJson(false)) continue;
    SchemaJson both = options[i];
    if (!says_nothing(rest)) both = {{"allOf", SchemaJson::array({rest, options[i]})}};
    QUERN_ASSIGN_OR_RETURN(const ExprId choice, convert(both, option_place));
    choices.push_back(choice);
  }
  if (choices.empty()) return fail::invalid("Nothing fits the schema at {}.", place);
  return ast_.choice(std::move(choices));
}

// Without white space, as their only form.
ExprId SchemaConverter::literal(const SchemaJson& value) {
  return ast_.text(value.dump());
}

// enum and const.
Result<ExprId> SchemaConverter::convert_values(const SchemaJson& schema, const std::string& place) {
  const SchemaJson none = SchemaJson::array();
  SchemaJson values = schema.value("enum", none);
  if (schema.contains("const")) {
    const bool is_known = !schema.contains("enum") ||
                          std::find(values.begin(), values.end(), schema["const"]) != values.end();
    values = is_known ? SchemaJson::array({schema["const"]}) : none;
  }
  if (!values.is_array()) return fail::invalid("'enum' at {} of the schema is not a list.", place);
  SchemaJson types = schema.value("type", none);
  if (!types.is_array()) types = SchemaJson::array({types});
  std::vector<ExprId> choices;
  for (const SchemaJson& value : values) {
    const auto fits = [&](const SchemaJson& type) {
      return type.is_string() && has_type(value, type.get<std::string>());
    };
    if (!types.empty() && std::none_of(types.begin(), types.end(), fits)) continue;
    choices.push_back(literal(value));
  }
  if (choices.empty()) return fail::invalid("No value fits the schema at {}.", place);
  for (const auto& [keyword, value] : schema.items()) {
    if (keyword == "enum" || keyword == "const" || keyword == "type") continue;
    if (!is_annotation(keyword)) not_enforced(keyword + " (beside given values)", place);
  }
  return ast_.choice(std::move(choices));
}

// One alternative for each type.
Result<ExprId> SchemaConverter::convert_types(const SchemaJson& schema, const std::string& place) {
  std::vector<std::string> types;
  if (schema.contains("type")) {
    const SchemaJson& given = schema["type"];
    const SchemaJson list = given.is_array() ? given : SchemaJson::array({given});
    for (const SchemaJson& type : list) {
      if (!type.is_string()) return fail::invalid("'type' at {} of the schema is no name.", place);
      types.push_back(type.get<std::string>());
    }
  } else {
    for (const Hint& hint : kHints) {
      const std::string type(hint.type);
      if (schema.contains(hint.keyword) && !is_in(types, type)) types.push_back(type);
    }
    if (types.empty()) return rules_.value();
  }
  if (types.empty()) return fail::invalid("'type' at {} of the schema is an empty list.", place);
  std::vector<ExprId> choices;
  for (const std::string& type : types) {
    QUERN_ASSIGN_OR_RETURN(const ExprId choice, convert_type(schema, type, place));
    choices.push_back(choice);
  }
  return ast_.choice(std::move(choices));
}

// By type.
Result<ExprId> SchemaConverter::convert_type(const SchemaJson& schema, const std::string& type,
                                             const std::string& place) {
  if (type == "object") return convert_object(schema, place);
  if (type == "array") return convert_array(schema, place);
  if (type == "string") return convert_string(schema, place);
  if (type == "integer") return convert_integer(schema, place);
  if (type == "number") return convert_number(schema, place);
  if (type == "boolean") return rules_.boolean();
  if (type == "null") return rules_.null();
  return fail::invalid(
      "The type '{}' at {} of the schema is not known; those known are object, array, string, "
      "integer, number, boolean, null.",
      type, place);
}

// A rule for each schema that is referred to, so that recursion ends.
Result<ExprId> SchemaConverter::convert_reference(const SchemaJson& reference,
                                                  const std::string& place) {
  QUERN_ASSIGN_OR_RETURN(const SchemaJson* target, resolve(reference, place));
  const auto pointer = reference.get<std::string>();
  const auto known = references_.find(pointer);
  if (known != references_.end()) return ast_.rule(known->second);
  if (references_.size() >= kMaxGrammarRules || depth_ >= kMaxConvertDepth) {
    return fail::invalid("The references of the schema are too many or too deep at {}.", place);
  }
  const RuleId rule = ast_.declare(pointer);
  references_.emplace(pointer, rule);
  ++depth_;
  const auto body = convert(*target, pointer);
  --depth_;
  if (!body) return tl::unexpected(body.error());
  ast_.define(rule, *body);
  return ast_.rule(rule);
}

// "#/a/b" within the document. Errors: elsewhere, or nothing there.
Result<const SchemaJson*> SchemaConverter::resolve(const SchemaJson& reference,
                                                   const std::string& place) const {
  if (!reference.is_string()) return fail::invalid("'$ref' at {} is not a text.", place);
  const auto pointer = reference.get<std::string>();
  const auto missing = [&] {
    return fail::invalid("The reference '{}' at {} names nothing in the schema.", pointer, place);
  };
  if (pointer.empty() || pointer[0] != '#') {
    return fail::unimplemented("The reference '{}' at {} leaves the schema; only '#/...' is known.",
                               pointer, place);
  }
  const SchemaJson* target = &document_;
  std::string_view rest = std::string_view(pointer).substr(1);
  while (!rest.empty()) {
    if (rest[0] != '/') return missing();
    const size_t end = std::min(rest.find('/', 1), rest.size());
    std::string key;
    for (size_t i = 1; i < end; ++i) {
      const bool is_escape =
          rest[i] == '~' && i + 1 < end && (rest[i + 1] == '0' || rest[i + 1] == '1');
      key += is_escape ? (rest[++i] == '0' ? '~' : '/') : rest[i];
    }
    rest.remove_prefix(end);
    if (target->is_object() && target->contains(key)) {
      target = &(*target)[key];
    } else if (target->is_array() && !key.empty() && key.size() < 7 &&
               key.find_first_not_of("0123456789") == std::string::npos &&
               std::stoul(key) < target->size()) {
      target = &(*target)[std::stoul(key)];
    } else {
      return missing();
    }
  }
  return target;
}

// Merges allOf and the keywords beside it into one schema.
Result<SchemaJson> SchemaConverter::flatten(const SchemaJson& schema, const std::string& place) {
  if (!schema.is_object()) {
    if (schema == SchemaJson(true)) return SchemaJson::object();
    return fail::invalid("Nothing fits the schema at {}, or it is not an object.", place);
  }
  if (flatten_depth_ >= kMaxFlattenDepth) {
    return fail::invalid("The schema at {} refers to itself, or is nested over {} deep.", place,
                         kMaxFlattenDepth);
  }
  SchemaJson result = schema;
  result.erase("$ref");
  result.erase("allOf");
  ++flatten_depth_;
  const auto join = [&](const SchemaJson& part) -> Result<void> {
    if (++num_merges_ > kMaxMerges) {
      return fail::invalid("The schema needs over {} merges of parts.", kMaxMerges);
    }
    QUERN_ASSIGN_OR_RETURN(const SchemaJson flat, flatten(part, place));
    QUERN_ASSIGN_OR_RETURN(result, merge_schemas(result, flat, place));
    return {};
  };
  if (schema.contains("$ref")) {
    QUERN_ASSIGN_OR_RETURN(const SchemaJson* target, resolve(schema["$ref"], place));
    QUERN_TRY(join(*target));
  }
  if (schema.contains("allOf")) {
    if (!schema["allOf"].is_array()) return fail::invalid("'allOf' at {} is not a list.", place);
    for (const SchemaJson& part : schema["allOf"]) QUERN_TRY(join(part));
  }
  --flatten_depth_;
  return result;
}

// Errors: negative, not whole, past kMaxCount, or crossed.
Result<SchemaConverter::Counts> SchemaConverter::read_counts(const SchemaJson& schema,
                                                             const std::string& what,
                                                             const std::string& place) const {
  Counts counts;
  const auto read = [&](const std::string& keyword, uint32_t& count) -> Result<void> {
    if (!schema.contains(keyword)) return {};
    const SchemaJson& value = schema[keyword];
    if (!value.is_number() || value.get<double>() < 0 || value.get<double>() > kMaxCount) {
      return fail::invalid("'{}' at {} of the schema is {}; it must be from 0 to {}.", keyword,
                           place, value.dump(), kMaxCount);
    }
    count = static_cast<uint32_t>(value.get<double>());
    return {};
  };
  QUERN_TRY(read("min" + what, counts.min));
  QUERN_TRY(read("max" + what, counts.max));
  if (counts.max < counts.min) {
    return fail::invalid("'min{}' at {} of the schema is {}, over 'max{}' with {}.", what, place,
                         counts.min, what, counts.max);
  }
  return counts;
}

}  // namespace quern
