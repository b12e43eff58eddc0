// JSON schemas as grammars: every text of the grammar is JSON that the schema accepts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/grammar/grammar.h"

namespace quern {

// The grammar, and what of the schema it does not hold.
struct SchemaGrammar {
  Grammar grammar;
  // Keywords whose meaning the grammar does not hold, with their place:
  // "uniqueItems at #/properties/tags". Texts must be checked for these by the caller.
  std::vector<std::string> unenforced;
};

// Larger schemas are refused before they are read.
inline constexpr size_t kMaxSchemaBytes = size_t{256} << 10;
inline constexpr size_t kMaxSchemaMembers = 2000;  // of one object of the JSON text
inline constexpr int kMaxSchemaDepth = 128;        // nested values of the JSON text

// Narrower than the schema where JSON leaves freedom: members in the order of `properties`, no
// members beyond it unless additionalProperties says so, numbers of at most 16 digits, one space or
// one line break with indent between parts, no \u escapes of what needs none in names of
// additional members. A tuple (prefixItems) is whole unless minItems says otherwise. An empty
// schema means an object at the root and anything elsewhere. Holds: type, enum, const, properties,
// required, additionalProperties, minProperties up to 1, items, prefixItems, minItems, maxItems,
// anyOf, oneOf (as anyOf), allOf, $ref inside the document, minLength, maxLength, pattern, format
// (date, time, date-time, uuid), bounds of integers. Errors: kInvalidArgument for bad JSON, a bad
// schema or one that nothing fits; kUnimplemented for keywords that cannot be held and would change
// the structure (not, if, patternProperties, ...).
Result<SchemaGrammar> grammar_from_json_schema(std::string_view schema);

}  // namespace quern
