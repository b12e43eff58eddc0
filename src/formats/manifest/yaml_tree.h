// YAML as a plain tree with the place of each value. The only user of yaml-cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "quern/error.h"

namespace quern::manifest {

// Where something stands: a line of a file, both for people. Cheap to copy.
struct Place {
  std::shared_ptr<const std::string> file;  // null: nowhere in particular
  int line = 0;                             // from 1
  std::string to_string() const;            // "mlp.yaml:12"
};

// An error that begins with its place: "mlp.yaml:12: Node 'h' ...".
tl::unexpected<Error> error_at(const Place& place, std::string_view sentence);
// The same around an error of another layer; its code is kept.
tl::unexpected<Error> error_at(const Place& place, const Error& error);

// One YAML value. Aliases are replaced by copies of what they stand for. A plain value.
struct YamlNode {
  // What the value is.
  enum class Kind : uint8_t { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  Place place = {};
  std::string text = {};             // of a scalar
  bool is_quoted = false;            // a scalar in quotes is text whatever it looks like
  bool is_include = false;           // a scalar with the tag !include
  std::vector<YamlNode> items = {};  // of a sequence
  std::vector<std::pair<std::string, YamlNode>> members = {};  // of a map, in the file's order

  // Short forms of comparing the kind.
  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_sequence() const { return kind == Kind::kSequence; }
  bool is_map() const { return kind == Kind::kMap; }
  // The member of a map; null where there is none.
  const YamlNode* find(std::string_view key) const;
  // "a map", "text", ... for errors.
  std::string_view kind_name() const;
};

// The number of values in a tree, itself included; a key counts too.
int64_t count_values(const YamlNode& node);

// Limits on one file; a file within them is parsed in time and memory linear in its size.
inline constexpr size_t kMaxYamlBytes = size_t{16} << 20;
// Of lists and maps inside of each other.
inline constexpr int kMaxYamlDepth = 64;
inline constexpr int64_t kMaxYamlValues = 500'000;  // with copies for anchors and aliases

// Parses one document. Errors: kInvalidArgument with file and line: malformed text, a key twice,
// a second document, keys that are not text, tags other than !include, a limit passed.
Result<YamlNode> parse_yaml(std::string_view text, std::string_view file_name);

}  // namespace quern::manifest
