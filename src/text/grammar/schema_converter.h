// A JSON schema turned into a grammar, part by part: what json_schema.cc runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quern/error.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/schema_merge.h"

namespace quern {

// From a schema to a grammar. Borrows the document. One document each.
class SchemaConverter {
 public:
  // The document must live longer.
  explicit SchemaConverter(const SchemaJson& document) : document_(document), rules_(ast_) {}

  // The grammar of the whole document; errors as of grammar_from_json_schema().
  Result<GrammarAst> run();
  // Keywords that were left out, each with its place.
  const std::vector<std::string>& unenforced() const { return unenforced_; }

 private:
  // Bounds of a number of things; kUnbounded stands for no upper one.
  struct Counts {
    // minItems and the like.
    uint32_t min = 0;
    uint32_t max = kUnbounded;
  };
  // A member of an object, ready to be used.
  struct Property {
    std::string name;
    ExprId member = 0;
    bool is_required = false;
  };

  // `place` is the JSON pointer of the schema, for messages.
  Result<ExprId> convert(const SchemaJson& schema, const std::string& place);
  // See .cc; `place` is the path of the schema, for errors.
  Result<ExprId> convert_flat(const SchemaJson& schema, const std::string& place);
  Result<ExprId> convert_options(const SchemaJson& schema, const std::string& keyword,
                                 const std::string& place);
  Result<ExprId> convert_values(const SchemaJson& schema, const std::string& place);
  Result<ExprId> convert_types(const SchemaJson& schema, const std::string& place);
  Result<ExprId> convert_type(const SchemaJson& schema, const std::string& type,
                              const std::string& place);
  ExprId literal(const SchemaJson& value);

  // $ref and allOf replaced by what they stand for, merged with the rest.
  Result<SchemaJson> flatten(const SchemaJson& schema, const std::string& place);
  // Null never: what is not there is an error.
  Result<const SchemaJson*> resolve(const SchemaJson& reference, const std::string& place) const;
  Result<ExprId> convert_reference(const SchemaJson& reference, const std::string& place);
  Result<void> check_keywords(const SchemaJson& schema, const std::string& place);
  Result<Counts> read_counts(const SchemaJson& schema, const std::string& what,
                             const std::string& place) const;

  // schema_strings.cc
  Result<ExprId> convert_string(const SchemaJson& schema, const std::string& place);
  // Formats that are texts of a known form; nothing for others.
  Result<std::optional<ExprId>> convert_format(const std::string& format);
  // schema_numbers.cc
  Result<ExprId> convert_integer(const SchemaJson& schema, const std::string& place);
  // Numbers, strings, objects and lists, each in a file of its own.
  Result<ExprId> convert_number(const SchemaJson& schema, const std::string& place);
  // schema_containers.cc
  Result<ExprId> convert_object(const SchemaJson& schema, const std::string& place);
  Result<std::vector<Property>> read_properties(const SchemaJson& schema, const std::string& place);
  Result<std::optional<ExprId>> additional_member(const SchemaJson& schema,
                                                  const std::vector<std::string>& names,
                                                  const std::string& place);
  ExprId members(const std::vector<Property>& properties, std::optional<ExprId> additional);
  Result<ExprId> convert_array(const SchemaJson& schema, const std::string& place);
  Result<ExprId> convert_tuple(const SchemaJson& prefix, const SchemaJson& rest, Counts counts,
                               const std::string& place);

  // Notes what a grammar cannot hold.
  void not_enforced(const std::string& keyword, const std::string& place);

  // Parsed, within the limits.
  const SchemaJson& document_;
  GrammarAst ast_;
  JsonRules rules_;
  std::map<std::string, RuleId> references_;  // by pointer
  // For the caller.
  std::vector<std::string> unenforced_;
  int depth_ = 0;
  int flatten_depth_ = 0;
  int num_merges_ = 0;
};

}  // namespace quern
