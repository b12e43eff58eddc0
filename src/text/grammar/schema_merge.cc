// Keyword by keyword.
// Two schemas that must both hold become one that says the same, or an error.
#include "text/grammar/schema_merge.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/fail.h"

namespace quern {
namespace {

// Keywords for people, of which the first one is kept.
constexpr std::array<std::string_view, 19> kAnnotations = {
    "$anchor",         "$comment",         "$defs",   "$id",         "$schema",    "$vocabulary",
    "contentEncoding", "contentMediaType", "default", "definitions", "deprecated", "description",
    "example",         "examples",         "id",      "readOnly",    "strict",     "title",
    "writeOnly"};

// Merges two schemas that must both hold. Errors where a grammar cannot say so.
class Merger {
 public:
  // Borrows both.
  Merger(const SchemaJson& a, const SchemaJson& b, const std::string& place)
      : a_(a), b_(b), place_(place), result_(a) {}

  // Keyword by keyword.
  Result<SchemaJson> run() {
    QUERN_TRY(merge_properties());
    for (const auto& [keyword, value] : b_.items()) {
      if (keyword == "properties" || keyword == "additionalProperties") continue;
      if (!a_.contains(keyword)) {
        result_[keyword] = value;
      } else if (!is_annotation(keyword) && a_[keyword] != value) {
        QUERN_TRY(merge_keyword(keyword, a_[keyword], value));
      }
    }
    return std::move(result_);
  }

 private:
  // Nothing fits both.
  tl::unexpected<Error> contradiction(const std::string& keyword) const {
    return fail::invalid("Nothing satisfies both schemas at {}: see '{}'.", place_, keyword);
  }

  // Each keyword has a rule of its own.
  Result<void> merge_keyword(const std::string& keyword, const SchemaJson& x, const SchemaJson& y) {
    const bool takes_larger = keyword == "minimum" || keyword == "exclusiveMinimum" ||
                              keyword == "minLength" || keyword == "minItems" ||
                              keyword == "minProperties";
    const bool takes_smaller = keyword == "maximum" || keyword == "exclusiveMaximum" ||
                               keyword == "maxLength" || keyword == "maxItems" ||
                               keyword == "maxProperties";
    if ((takes_larger || takes_smaller) && x.is_number() && y.is_number()) {
      // The larger of two lower bounds, the smaller of two upper ones: both hold.
      result_[keyword] = (x < y) == takes_larger ? y : x;
      return {};
    }
    if (keyword == "type") return merge_types(x, y);
    if (keyword == "enum") return merge_enums(x, y);
    if (keyword == "required" && x.is_array() && y.is_array()) {
      for (const SchemaJson& name : y) {
        if (std::find(x.begin(), x.end(), name) == x.end()) result_[keyword].push_back(name);
      }
      return {};
    }
    if (keyword == "items" && !x.is_array() && !y.is_array()) {
      result_[keyword] = both(x, y);
      return {};
    }
    if (keyword == "const") return contradiction(keyword);
    return fail::unimplemented(
        "The schemas at {} have two values of '{}', which have no common form.", place_, keyword);
  }

  // A schema that holds where both do.
  static SchemaJson both(const SchemaJson& x, const SchemaJson& y) {
    if (x == y || y == SchemaJson(true)) return x;
    if (x == SchemaJson(true)) return y;
    if (x == SchemaJson(false) || y == SchemaJson(false)) return false;
    return {{"allOf", SchemaJson::array({x, y})}};
  }

  // A list of one where it is none.
  static SchemaJson as_list(const SchemaJson& value) {
    return value.is_array() ? value : SchemaJson::array({value});
  }

  // Types of both; a number that is an integer is one.
  Result<void> merge_types(const SchemaJson& x, const SchemaJson& y) {
    SchemaJson types = SchemaJson::array();
    const SchemaJson second = as_list(y);
    const auto has = [](const SchemaJson& list, const char* type) {
      return std::find(list.begin(), list.end(), SchemaJson(type)) != list.end();
    };
    for (const SchemaJson& type : as_list(x)) {
      if (std::find(second.begin(), second.end(), type) != second.end()) {
        types.push_back(type);
      } else if ((type == SchemaJson("number") && has(second, "integer")) ||
                 (type == SchemaJson("integer") && has(second, "number"))) {
        types.push_back("integer");
      }
    }
    if (types.empty()) return contradiction("type");
    result_["type"] = types.size() == 1 ? types[0] : types;
    return {};
  }

  // Values of both.
  Result<void> merge_enums(const SchemaJson& x, const SchemaJson& y) {
    SchemaJson values = SchemaJson::array();
    for (const SchemaJson& value : x) {
      if (std::find(y.begin(), y.end(), value) != y.end()) values.push_back(value);
    }
    if (values.empty()) return contradiction("enum");
    result_["enum"] = values;
    return {};
  }

  // A property that only one side names is held to the other side's additionalProperties.
  Result<void> merge_properties() {
    const SchemaJson none = SchemaJson::object();
    const SchemaJson x = a_.value("properties", none);
    const SchemaJson y = b_.value("properties", none);
    const SchemaJson x_more = a_.value("additionalProperties", SchemaJson(true));
    const SchemaJson y_more = b_.value("additionalProperties", SchemaJson(true));
    if (!x.is_object() || !y.is_object()) return contradiction("properties");
    SchemaJson merged = none;
    for (const auto& [name, schema] : x.items()) {
      merged[name] = both(schema, y.contains(name) ? y[name] : y_more);
    }
    for (const auto& [name, schema] : y.items()) {
      if (!x.contains(name)) merged[name] = both(schema, x_more);
    }
    if (a_.contains("properties") || b_.contains("properties")) result_["properties"] = merged;
    if (a_.contains("additionalProperties") || b_.contains("additionalProperties")) {
      result_["additionalProperties"] = both(x_more, y_more);
    }
    return {};
  }

  const SchemaJson& a_;
  const SchemaJson& b_;
  const std::string& place_;
  SchemaJson result_;
};

}  // namespace

// Whether it is one of kAnnotations.
bool is_annotation(const std::string& keyword) {
  return std::find(kAnnotations.begin(), kAnnotations.end(), keyword) != kAnnotations.end() ||
         keyword.rfind("x-", 0) == 0;
}

// Errors: kInvalidArgument for contradictions, with the place.
Result<SchemaJson> merge_schemas(const SchemaJson& a, const SchemaJson& b,
                                 const std::string& place) {
  return Merger(a, b, place).run();
}

}  // namespace quern
