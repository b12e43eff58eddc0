// Variables of a manifest and their use: ${a.b}, ${i + 1}.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/manifest/yaml_tree.h"

namespace quern::manifest {

inline constexpr size_t kMaxTextBytes = 65'536;  // of one text after substitution

// Values by dotted path: scalars and lists of scalars. They may use each other.
class Variables {
 public:
  // `tree` is the manifest's `variables`, a map of maps (or null for none). `overrides` gives
  // some of them other values, as text. Errors: kInvalidArgument with file and line for a value of
  // another kind, an override of a variable that is not there, a variable that depends on itself.
  static Result<Variables> make(const YamlNode* tree,
                                const std::map<std::string, std::string>& overrides);
  // Of the outermost part of a name.
  bool contains(std::string_view name) const { return values_.contains(name); }
  // A scalar or a list of scalars, without ${...}; for "a.0" an item of the list "a".
  // Errors: kNotFound, without a place.
  Result<YamlNode> value(std::string_view name) const;

 private:
  // All resolved.
  std::map<std::string, YamlNode, std::less<>> values_;
};

// What names stand for at one place: the indices of the repeats around it, then the variables.
struct Scope {
  // Not null in use: a manifest without variables has an empty one.
  const Variables* variables = nullptr;
  std::vector<std::pair<std::string, int64_t>> indices = {};  // innermost last
};

// The tree with every ${...} replaced. A scalar that is nothing but ${name} becomes the variable's
// value, of whatever kind; elsewhere the value's text is put in. $${ stands for ${ itself. Keys of
// maps are not touched. Errors: kInvalidArgument and kNotFound with file and line.
Result<YamlNode> substitute(const YamlNode& node, const Scope& scope);

}  // namespace quern::manifest
