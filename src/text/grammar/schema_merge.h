// Several JSON schemas that must all hold, as one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "quern/error.h"

namespace quern {

// Keeps the order of members: it is the order of properties in the generated text.
using SchemaJson = nlohmann::ordered_json;

// Both are objects without $ref and allOf at their top level. `place` is for messages.
// Errors: kInvalidArgument where nothing can satisfy both; kUnimplemented where the same keyword
// has two values that have no common form.
Result<SchemaJson> merge_schemas(const SchemaJson& a, const SchemaJson& b,
                                 const std::string& place);

// Keywords that do not change what a schema accepts (title, default, $comment, ...).
bool is_annotation(const std::string& keyword);

}  // namespace quern
