// Builds the tree from yaml-cpp's events, so that every limit is checked while it grows.
// Anchors and aliases are copies, counted against the same limits as what they stand for.
#include "formats/manifest/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace quern::manifest {
namespace {

using Kind = YamlNode::Kind;

// Levels of lists and maps; scalars have none.
int depth_of(const YamlNode& node) {
  int deepest = 0;
  for (const YamlNode& item : node.items) deepest = std::max(deepest, depth_of(item));
  for (const auto& [key, value] : node.members) deepest = std::max(deepest, depth_of(value));
  return deepest + 1;
}

// The events of one document. After the first error the rest of the events is ignored.
class TreeBuilder final : public YAML::EventHandler {
 public:
  // `file_name` is for places.
  explicit TreeBuilder(std::string_view file_name)
      : file_(std::make_shared<const std::string>(file_name)) {}

  // Lines are counted from 1 here, from 0 by the library.
  Place place_of(const YAML::Mark& mark) const { return {file_, mark.line + 1}; }
  // The first error; the tree counts only without one.
  const std::optional<Error>& error() const { return error_; }
  YamlNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    place({.kind = Kind::kNull, .place = place_of(mark)}, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    // An alias inside its own anchor finds nothing: the anchor is known when its value is complete.
    if (it == anchors_.end()) return refuse(mark, "An alias stands inside the value it names.");
    if (static_cast<int>(open_.size()) + it->second.depth > kMaxYamlDepth) {
      return refuse_depth(place_of(mark));
    }
    if (!count(it->second.num_values - 1, place_of(mark))) return;
    YamlNode copy = it->second.node;
    copy.place = place_of(mark);
    place(std::move(copy), 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node{.kind = Kind::kScalar, .place = place_of(mark), .text = value};
    node.is_quoted = tag == "!";
    node.is_include = tag == "!include";
    if (!node.is_include) check_tag(mark, tag);
    place(std::move(node), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open({.kind = Kind::kSequence, .place = place_of(mark)}, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open({.kind = Kind::kMap, .place = place_of(mark)}, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map that is being read.
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::optional<std::string> key;  // of a map, whose value comes next
    Place key_place = {};
    std::set<std::string, std::less<>> keys = {};  // of a map, all so far
  };
  // What an anchor names, whole.
  struct Anchored {
    YamlNode node;
    int64_t num_values = 0;
    int depth = 0;
  };

  // Keeps the first error; later events are ignored.
  void refuse(const Place& place, std::string_view sentence) {
    if (!error_) error_ = error_at(place, sentence).value();
  }
  void refuse(const YAML::Mark& mark, std::string_view sentence) {
    refuse(place_of(mark), sentence);
  }
  void refuse_depth(const Place& place) {
    refuse(place, fmt::format("Values are nested more than {} deep.", kMaxYamlDepth));
  }
  // Only !include, and the tags that the library adds itself.
  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    refuse(mark, fmt::format("The tag '{}' is unknown; the only one is !include, before a path.",
                             std::string_view(tag).substr(0, 64)));
  }
  // Adds to the number of values in memory; false once the limit is passed or after an error.
  bool count(int64_t num_values, const Place& place) {
    num_values_ += num_values;
    if (num_values_ > kMaxYamlValues) {
      refuse(place, fmt::format("The file holds more than {} values, counting those that anchors "
                                "and aliases repeat.",
                                kMaxYamlValues));
    }
    return !error_;
  }
  // Errors: deeper than kMaxYamlDepth.
  void open(YamlNode node, YAML::anchor_t anchor) {
    if (static_cast<int>(open_.size()) >= kMaxYamlDepth) refuse_depth(node.place);
    if (!error_) open_.push_back({std::move(node), anchor, std::nullopt});
  }
  // The finished list or map goes into the one around it.
  void close() {
    if (error_ || open_.empty()) return;
    Open done = std::move(open_.back());
    open_.pop_back();
    place(std::move(done.node), done.anchor);
  }
  // A complete value: a member or item of the innermost open value, or the root.
  void place(YamlNode node, YAML::anchor_t anchor) {
    if (!count(1, node.place)) return;
    if (anchor != 0) {
      const int64_t num_values = count_values(node);
      if (!count(num_values, node.place)) return;  // an anchor keeps a copy
      anchors_[anchor] = {node, num_values, depth_of(node)};
    }
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (open_.back().node.is_sequence()) {
      open_.back().node.items.push_back(std::move(node));
    } else if (!open_.back().key) {
      take_key(std::move(node));
    } else {
      // yaml-cpp finds that a value is absent at the next token; the key's line says more.
      if (node.is_null()) node.place = open_.back().key_place;
      open_.back().node.members.emplace_back(std::move(*open_.back().key), std::move(node));
      open_.back().key.reset();
    }
  }
  // Errors: a key that is no text, or stands twice.
  void take_key(YamlNode node) {
    if (!node.is_scalar() || node.is_include) {
      return refuse(node.place, fmt::format("A key is {}; keys are text.", node.kind_name()));
    }
    if (!open_.back().keys.insert(node.text).second) {
      return refuse(node.place, fmt::format("The key '{}' is there twice.", node.text));
    }
    open_.back().key = std::move(node.text);
    open_.back().key_place = node.place;
  }

  std::shared_ptr<const std::string> file_;
  YamlNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  int64_t num_values_ = 0;
  std::optional<Error> error_;
};

}  // namespace

// Walks the tree.
int64_t count_values(const YamlNode& node) {
  int64_t count = 1;
  for (const YamlNode& item : node.items) count += count_values(item);
  for (const auto& [key, value] : node.members) count += 1 + count_values(value);
  return count;
}

// "?" where the file is not known.
std::string Place::to_string() const {
  return file == nullptr ? "manifest" : fmt::format("{}:{}", *file, line);
}

// The sentence behind its place.
tl::unexpected<Error> error_at(const Place& place, std::string_view sentence) {
  return fail::invalid("{}: {}", place.to_string(), sentence);
}

tl::unexpected<Error> error_at(const Place& place, const Error& error) {
  return tl::unexpected(error.with_context(place.to_string()));
}

// Linear: maps of manifests are small.
const YamlNode* YamlNode::find(std::string_view key) const {
  const auto it = std::ranges::find(members, key, &std::pair<std::string, YamlNode>::first);
  return it == members.end() ? nullptr : &it->second;
}

std::string_view YamlNode::kind_name() const {
  switch (kind) {
    case Kind::kNull:
      return "empty";
    case Kind::kScalar:
      return "text";
    case Kind::kSequence:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "unknown";
}

// Events of the library make the tree, so that limits hold while it is read.
Result<YamlNode> parse_yaml(std::string_view text, std::string_view file_name) {
  TreeBuilder builder(file_name);
  if (text.size() > kMaxYamlBytes) {
    return fail::invalid("{}: The file has {} bytes; the limit is {}.", file_name, text.size(),
                         kMaxYamlBytes);
  }
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    const bool has_document = parser.HandleNextDocument(builder);
    if (!builder.error() && has_document && parser) {
      TreeBuilder second(file_name);
      if (parser.HandleNextDocument(second)) {
        return fail::invalid("{}: The file holds more than one document.", file_name);
      }
    }
  } catch (const YAML::Exception& error) {
    if (!builder.error()) return error_at(builder.place_of(error.mark), error.msg + ".");
  }
  if (builder.error()) return tl::unexpected(*builder.error());
  YamlNode root = builder.take_root();
  // A file of nothing but blanks and comments has no events, and so no place.
  if (root.place.file == nullptr) root.place = builder.place_of(YAML::Mark());
  return root;
}

}  // namespace quern::manifest
