// Strings of a schema: length, pattern, format.
// Escapes count as the character they stand for.
#include "base/fail.h"
#include "text/grammar/schema_converter.h"
#include "text/grammar/string_pattern.h"

namespace quern {
namespace {

// RFC 3339. A February 29 needs a leap year.
constexpr const char* kDate =
    "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"
    "02-(0[1-9]|1[0-9]|2[0-8]))|"
    "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)";
// RFC 3339 and RFC 4122, as patterns.
constexpr const char* kTime =
    "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
constexpr const char* kUuid =
    "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

}  // namespace

// Nothing for formats that are hints only.
Result<std::optional<ExprId>> SchemaConverter::convert_format(const std::string& format) {
  std::string pattern;
  if (format == "date") pattern = kDate;
  if (format == "time") pattern = kTime;
  if (format == "date-time") pattern = fmt::format("{}T{}", kDate, kTime);
  if (format == "uuid") pattern = kUuid;
  if (pattern.empty()) return std::optional<ExprId>();
  QUERN_ASSIGN_OR_RETURN(const ExprId expr, string_pattern(ast_, rules_, "^" + pattern + "$"));
  return std::optional<ExprId>(expr);
}

// pattern, format and lengths; pattern and lengths together cannot be held.
Result<ExprId> SchemaConverter::convert_string(const SchemaJson& schema, const std::string& place) {
  QUERN_ASSIGN_OR_RETURN(const Counts length, read_counts(schema, "Length", place));
  const bool has_length = schema.contains("minLength") || schema.contains("maxLength");
  std::optional<ExprId> result;
  if (schema.contains("pattern")) {
    if (!schema["pattern"].is_string()) return fail::invalid("'pattern' at {} is no text.", place);
    QUERN_ASSIGN_OR_RETURN(result,
                           string_pattern(ast_, rules_, schema["pattern"].get<std::string>()));
    if (schema.contains("format")) not_enforced("format (beside a pattern)", place);
  } else if (schema.contains("format")) {
    if (!schema["format"].is_string()) return fail::invalid("'format' at {} is no text.", place);
    const auto format = schema["format"].get<std::string>();
    QUERN_ASSIGN_OR_RETURN(result, convert_format(format));
    if (!result) not_enforced(fmt::format("format '{}'", format), place);
  }
  if (!result) return rules_.string(length.min, length.max);
  if (has_length) not_enforced("minLength, maxLength (beside a pattern or format)", place);
  return *result;
}

}  // namespace quern
