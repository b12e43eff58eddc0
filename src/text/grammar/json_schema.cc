// Reading the schema safely, then SchemaConverter.
// Sizes and depth are checked on the text, before a tree of it exists.
#include "text/grammar/json_schema.h"

#include "base/fail.h"
#include "text/grammar/schema_converter.h"

namespace quern {
namespace {

// The JSON library recurses over values, so the depth is checked before it sees the text.
Result<void> check_depth(std::string_view text) {
  int depth = 0;
  bool is_in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      // Skips what is escaped, a quote among it; broken JSON is found by the parser.
      if (c == '\\') ++i;
      if (c == '"') is_in_string = false;
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxSchemaDepth) {
        return fail::invalid("The JSON schema is nested over {} deep.", kMaxSchemaDepth);
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return {};
}

// Look-ups in objects are linear in this library.
Result<void> check_members(const SchemaJson& value) {
  if (value.is_object() && value.size() > kMaxSchemaMembers) {
    return fail::invalid("An object of the JSON schema has {} members; the limit is {}.",
                         value.size(), kMaxSchemaMembers);
  }
  for (const SchemaJson& child : value) {
    if (child.is_structured()) QUERN_TRY(check_members(child));
  }
  return {};
}

}  // namespace

// Errors: kInvalidArgument with the place in the schema; kUnimplemented for keywords that would
// change what is accepted.
Result<SchemaGrammar> grammar_from_json_schema(std::string_view schema) {
  if (schema.size() > kMaxSchemaBytes) {
    return fail::invalid("The JSON schema has {} bytes; the limit is {}.", schema.size(),
                         kMaxSchemaBytes);
  }
  QUERN_TRY(check_depth(schema));
  const SchemaJson document = SchemaJson::parse(schema, nullptr, false);
  if (document.is_discarded()) return fail::invalid("The JSON schema is not valid JSON.");
  QUERN_TRY(check_members(document));
  SchemaConverter converter(document);
  QUERN_ASSIGN_OR_RETURN(const GrammarAst ast, converter.run());
  QUERN_ASSIGN_OR_RETURN(Grammar grammar, Grammar::compile(ast));
  return SchemaGrammar{std::move(grammar), converter.unenforced()};
}

}  // namespace quern
