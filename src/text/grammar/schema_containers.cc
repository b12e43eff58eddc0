// Objects and arrays of a schema.
// Members stand in the order of the schema: any order would need a grammar that grows
// exponentially.
#include <algorithm>

#include "base/fail.h"
#include "text/grammar/gbnf_parser.h"
#include "text/grammar/other_names.h"
#include "text/grammar/schema_converter.h"

namespace quern {
namespace {

constexpr size_t kMaxNameBytes = 100'000;  // of all properties of an object with additional ones

// A name inside a JSON pointer.
std::string pointer_part(const std::string& name) {
  std::string part;
  for (const char c : name) {
    if (c == '~') {
      // RFC 6901: '~' and '/' have escapes in a JSON pointer.
      part += "~0";
    } else if (c == '/') {
      part += "~1";
    } else {
      part += c;
    }
  }
  return part;
}

}  // namespace

// Properties in the order of the schema, with the required ones that it does not describe.
Result<std::vector<SchemaConverter::Property>> SchemaConverter::read_properties(
    const SchemaJson& schema, const std::string& place) {
  SchemaJson declared = schema.value("properties", SchemaJson::object());
  const SchemaJson required = schema.value("required", SchemaJson::array());
  if (!declared.is_object() || !required.is_array()) {
    return fail::invalid("'properties' or 'required' at {} has the wrong form.", place);
  }
  // Required names without a schema of their own come last.
  for (const SchemaJson& name : required) {
    if (!name.is_string()) return fail::invalid("'required' at {} has no names.", place);
    const auto text = name.get<std::string>();
    if (!declared.contains(text))
      declared[text] = schema.value("additionalProperties", SchemaJson(true));
  }
  std::vector<Property> properties;
  for (const auto& [name, value] : declared.items()) {
    const bool is_required = std::find(required.begin(), required.end(), name) != required.end();
    // Nothing satisfies `false`: an optional member of that name just never stands.
    if (value == SchemaJson(false) && !is_required) continue;
    QUERN_ASSIGN_OR_RETURN(
        const ExprId content,
        convert(value, fmt::format("{}/properties/{}", place, pointer_part(name))));
    properties.push_back({name, rules_.member(ast_.text(json_quoted(name)), content), is_required});
  }
  return properties;
}

// Members with other names; none where additionalProperties is false, or absent beside properties.
Result<std::optional<ExprId>> SchemaConverter::additional_member(
    const SchemaJson& schema, const std::vector<std::string>& names, const std::string& place) {
  // Stricter than JSON Schema, which allows other members by default: a schema that lists
  // properties means these.
  const SchemaJson more =
      schema.value("additionalProperties", SchemaJson(!schema.contains("properties")));
  if (more == SchemaJson(false)) return std::optional<ExprId>();
  size_t num_bytes = 0;
  for (const std::string& name : names) num_bytes += name.size();
  if (num_bytes > kMaxNameBytes || ast_.rules().size() + num_bytes > kMaxGrammarRules) {
    return fail::invalid("The names of the properties at {} are too long for additional ones.",
                         place);
  }
  QUERN_ASSIGN_OR_RETURN(const ExprId value, convert(more, place + "/additionalProperties"));
  const ExprId name = names.empty() ? rules_.string(0, kUnbounded) : other_name(ast_, names);
  return std::optional<ExprId>(rules_.member(name, value));
}

// head(i): members where the first one is property i or later; tail(i): what follows a member, from
// property i on. Each is a rule, so that the size stays linear.
ExprId SchemaConverter::members(const std::vector<Property>& properties,
                                std::optional<ExprId> additional) {
  std::optional<ExprId> head;
  ExprId tail = ast_.text("");
  if (additional) {
    head = rules_.list(*additional, 1, kUnbounded);
    tail = ast_.repeat(rules_.comma_then(*additional), 0, kUnbounded);
  }
  for (size_t i = properties.size(); i-- > 0;) {
    const Property& property = properties[i];
    const RuleId tail_rule = ast_.declare("after-" + property.name);
    ast_.define(tail_rule, tail);
    const ExprId first = ast_.sequence({property.member, ast_.rule(tail_rule)});
    const ExprId next = rules_.comma_then(property.member);
    //   members a? b c?:  head(a) = a tail(b) | head(b)     tail(b) = , b tail(c)
    //                     head(b) = b tail(c)               tail(c) = (, c)?
    tail = ast_.sequence({property.is_required ? next : ast_.optional(next), ast_.rule(tail_rule)});
    if (property.is_required || !head) {
      head = first;
      continue;
    }
    const RuleId head_rule = ast_.declare("from-" + property.name);
    ast_.define(head_rule, ast_.choice({first, *head}));
    head = ast_.rule(head_rule);
  }
  return head ? *head : ast_.text("");
}

// Names stand in the order of the schema; others may follow where they are allowed.
Result<ExprId> SchemaConverter::convert_object(const SchemaJson& schema, const std::string& place) {
  QUERN_ASSIGN_OR_RETURN(const Counts counts, read_counts(schema, "Properties", place));
  if (counts.min > 1) not_enforced("minProperties", place);
  if (counts.max != kUnbounded) not_enforced("maxProperties", place);
  QUERN_ASSIGN_OR_RETURN(const auto properties, read_properties(schema, place));
  // Names without a schema that fits are no additional ones either.
  std::vector<std::string> names;
  const SchemaJson declared = schema.value("properties", SchemaJson::object());
  for (const auto& [name, value] : declared.items()) names.push_back(name);
  for (const Property& property : properties) {
    if (std::find(names.begin(), names.end(), property.name) == names.end()) {
      names.push_back(property.name);
    }
  }
  QUERN_ASSIGN_OR_RETURN(const auto additional, additional_member(schema, names, place));
  if (properties.empty() && !additional) {
    if (counts.min > 0) return fail::invalid("No object fits the schema at {}.", place);
    return ast_.sequence({ast_.text("{"), rules_.space(), ast_.text("}")});
  }
  const bool can_be_empty =
      counts.min == 0 && std::none_of(properties.begin(), properties.end(),
                                      [](const Property& p) { return p.is_required; });
  return rules_.enclosed('{', members(properties, additional), can_be_empty, '}');
}

// Lists of one kind of item, or tuples.
Result<ExprId> SchemaConverter::convert_array(const SchemaJson& schema, const std::string& place) {
  if (schema.value("uniqueItems", SchemaJson(false)) != SchemaJson(false)) {
    not_enforced("uniqueItems", place);
  }
  QUERN_ASSIGN_OR_RETURN(Counts counts, read_counts(schema, "Items", place));
  SchemaJson prefix = schema.value("prefixItems", SchemaJson::array());
  SchemaJson items = schema.value("items", SchemaJson(prefix.empty()));
  if (items.is_array()) {  // drafts before 2020
    prefix = std::move(items);
    items = false;
  }
  if (!prefix.is_array()) return fail::invalid("'prefixItems' at {} is not a list.", place);
  const auto num_prefix = static_cast<uint32_t>(prefix.size());
  // Stricter than JSON Schema as well: a tuple has all its items unless minItems says less.
  if (!schema.contains("minItems")) counts.min = std::min(num_prefix, counts.max);
  if (items == SchemaJson(false)) counts.max = std::min(counts.max, num_prefix);
  if (counts.min > counts.max) return fail::invalid("No array fits the schema at {}.", place);
  if (counts.max == 0) return ast_.sequence({ast_.text("["), rules_.space(), ast_.text("]")});
  if (num_prefix > 0) return convert_tuple(prefix, items, counts, place);
  QUERN_ASSIGN_OR_RETURN(const ExprId item, convert(items, place + "/items"));
  return rules_.enclosed('[', rules_.list(item, std::max(counts.min, 1U), counts.max),
                         counts.min == 0, ']');
}

// Built from the end: every item that need not be there takes the rest with it.
Result<ExprId> SchemaConverter::convert_tuple(const SchemaJson& prefix, const SchemaJson& rest,
                                              Counts counts, const std::string& place) {
  const auto num_prefix = static_cast<uint32_t>(prefix.size());
  ExprId tail = ast_.text("");
  if (counts.max > num_prefix) {
    QUERN_ASSIGN_OR_RETURN(const ExprId item, convert(rest, place + "/items"));
    const uint32_t max = counts.max == kUnbounded ? kUnbounded : counts.max - num_prefix;
    const uint32_t min = counts.min > num_prefix ? counts.min - num_prefix : 0;
    tail = ast_.repeat(rules_.comma_then(item), min, max);
  }
  for (uint32_t i = std::min(num_prefix, counts.max); i-- > 0;) {
    QUERN_ASSIGN_OR_RETURN(const ExprId item,
                           convert(prefix[i], fmt::format("{}/prefixItems/{}", place, i)));
    tail = ast_.sequence({i == 0 ? item : rules_.comma_then(item), tail});
    if (i > 0 && i >= counts.min) tail = ast_.optional(tail);
    const RuleId rule = ast_.declare(fmt::format("item-{}", i));
    ast_.define(rule, tail);
    tail = ast_.rule(rule);
  }
  return rules_.enclosed('[', tail, counts.min == 0, ']');
}

}  // namespace quern
