// Nodes and repeats of a manifest.
// Repeats are unrolled here, within limits: the graph has no loops.
#include <algorithm>
#include <utility>

#include "formats/manifest/declarations.h"
#include "formats/manifest/integer_expression.h"
#include "formats/manifest/yaml_values.h"
#include "ir/text_cursor.h"

namespace quern::manifest {
namespace {

// A value by name; null and "_" stand for an absent optional input.
Result<ValueRef> read_ref(const YamlNode& node, std::string_view what) {
  if (node.is_null()) return ValueRef{node.place, ""};
  QUERN_ASSIGN_OR_RETURN(std::string name, text_of(node, what));
  if (name.empty()) return error_at(node.place, fmt::format("{} is empty.", what));
  if (name == "_") name.clear();
  return ValueRef{node.place, std::move(name)};
}

// One name, a list by position, or a map by port.
Result<void> read_inputs(const YamlNode& node, NodeDecl& decl) {
  const std::string what = fmt::format("'in' of node '{}'", decl.id);
  if (node.is_scalar()) {
    QUERN_ASSIGN_OR_RETURN(ValueRef ref, read_ref(node, what));
    decl.inputs.push_back(std::move(ref));
    return {};
  }
  for (const YamlNode& item : node.items) {
    QUERN_ASSIGN_OR_RETURN(ValueRef ref, read_ref(item, what));
    decl.inputs.push_back(std::move(ref));
  }
  for (const auto& [port, value] : node.members) {
    QUERN_ASSIGN_OR_RETURN(ValueRef ref, read_ref(value, what));
    decl.inputs.push_back(std::move(ref));
    decl.ports.push_back(port);
  }
  return {};
}

// Unrolls repeats depth first. The limits hold for the whole manifest.
class NodeReader {
 public:
  // Borrows the variables.
  explicit NodeReader(const Variables& variables) : scope_{&variables} {}

  // Nodes, repeats, and lists that were included.
  Result<void> read_list(const YamlNode& list) {
    QUERN_TRY(expect_sequence(list, "'nodes'"));
    for (const YamlNode& item : list.items) {
      if (item.is_sequence()) {  // an included list
        QUERN_TRY(read_list(item));
      } else {
        QUERN_TRY(expect_map(item, "An item of 'nodes'"));
        QUERN_TRY(item.find("repeat") != nullptr ? read_repeat(item) : read_node(item));
      }
    }
    return {};
  }
  // Once, at the end.
  std::vector<NodeDecl> take_nodes() { return std::move(nodes_); }

 private:
  // Reads the body once for each value of the index.
  Result<void> read_repeat(const YamlNode& node) {
    QUERN_TRY(expect_keys(node, "A repeat", {"repeat", "index", "offset", "nodes"}));
    QUERN_ASSIGN_OR_RETURN(const int64_t count, integer(*node.find("repeat"), "'repeat'"));
    if (count < 0 || count > kMaxRepeats) {
      return error_at(node.place,
                      fmt::format("A repeat of {} rounds is outside 0 to {}.", count, kMaxRepeats));
    }
    int64_t offset = 0;
    if (const YamlNode* member = node.find("offset")) {
      QUERN_ASSIGN_OR_RETURN(offset, integer(*member, "'offset' of a repeat"));
    }
    int64_t end = 0;
    // `end` bounds the loop below: wrapped around, it would be below the offset.
    if (__builtin_add_overflow(offset, count, &end)) {
      return error_at(node.place, fmt::format("The offset {} of a repeat is too large.", offset));
    }
    QUERN_ASSIGN_OR_RETURN(const std::string index, index_name(node));
    QUERN_ASSIGN_OR_RETURN(const YamlNode* body, require(node, "nodes", "A repeat"));
    // The value is set in each round; the pair stays innermost for the whole body.
    scope_.indices.emplace_back(index, 0);
    for (int64_t i = offset; i < end; ++i) {
      QUERN_TRY(count_expansions(1, node.place));
      scope_.indices.back().second = i;
      QUERN_TRY(read_list(*body));
    }
    scope_.indices.pop_back();
    return {};
  }

  // "index" where the repeat names none. It must not hide another name.
  Result<std::string> index_name(const YamlNode& node) const {
    std::string name = "index";
    if (const YamlNode* member = node.find("index")) {
      QUERN_ASSIGN_OR_RETURN(name, text_of(*member, "'index' of a repeat"));
    }
    if (!is_variable_name(name) || name.find('.') != std::string::npos) {
      return error_at(
          node.place,
          fmt::format("The index '{}' of a repeat is not a name; letters, digits and _ make one.",
                      name));
    }
    bool is_taken = scope_.variables->contains(name);
    for (const auto& [outer, value] : scope_.indices) is_taken = is_taken || outer == name;
    if (!is_taken) return name;
    return error_at(node.place,
                    fmt::format("The index '{}' of a repeat hides a variable or an outer "
                                "index of that name.",
                                name));
  }

  // After variables are replaced.
  Result<int64_t> integer(const YamlNode& node, std::string_view what) const {
    QUERN_ASSIGN_OR_RETURN(const YamlNode value, substitute(node, scope_));
    return integer_of(value, what);
  }

  // Limits what a few lines can make.
  Result<void> count_expansions(int64_t count, const Place& place) {
    num_expansions_ += count;
    if (num_expansions_ <= kMaxExpansions) return {};
    return error_at(
        place, fmt::format("The manifest's repeats make more than {} expansions.", kMaxExpansions));
  }

  // One node within the current indices.
  Result<void> read_node(const YamlNode& raw) {
    // Nodes outside of repeats are bounded by the size of the file already.
    if (!scope_.indices.empty()) QUERN_TRY(count_expansions(1, raw.place));
    // Repeats of a large node are bounded by what they would hold in memory.
    num_values_ += count_values(raw);
    if (num_values_ > kMaxYamlValues) {
      return error_at(
          raw.place, fmt::format("The manifest's nodes hold more than {} values.", kMaxYamlValues));
    }
    QUERN_ASSIGN_OR_RETURN(const YamlNode node, substitute(raw, scope_));
    QUERN_TRY(expect_keys(node, "A node", {"id", "op", "in", "attributes", "precision", "device"}));
    NodeDecl decl;
    decl.place = node.place;
    QUERN_ASSIGN_OR_RETURN(const YamlNode* id, require(node, "id", "A node"));
    QUERN_ASSIGN_OR_RETURN(decl.id, text_of(*id, "'id' of a node"));
    QUERN_ASSIGN_OR_RETURN(const YamlNode* op,
                           require(node, "op", fmt::format("Node '{}'", decl.id)));
    QUERN_ASSIGN_OR_RETURN(decl.op, text_of(*op, fmt::format("'op' of node '{}'", decl.id)));
    if (const YamlNode* in = node.find("in")) QUERN_TRY(read_inputs(*in, decl));
    if (const YamlNode* attributes = node.find("attributes");
        attributes && !attributes->is_null()) {
      QUERN_TRY(expect_map(*attributes, fmt::format("'attributes' of node '{}'", decl.id)));
      decl.attributes = attributes->members;
    }
    if (const YamlNode* precision = node.find("precision")) {
      QUERN_ASSIGN_OR_RETURN(decl.precision, read_precision(*precision));
    }
    if (const YamlNode* device = node.find("device")) {
      QUERN_ASSIGN_OR_RETURN(decl.device,
                             text_of(*device, fmt::format("'device' of node '{}'", decl.id)));
      // A graph's text could not say it otherwise.
      if (!is_graph_name(decl.device)) {
        return error_at(device->place,
                        fmt::format("The device '{}' of node '{}' is not made of letters, digits "
                                    "and _ . : - /.",
                                    decl.device.substr(0, 64), decl.id));
      }
    }
    nodes_.push_back(std::move(decl));
    return {};
  }

  Scope scope_;
  std::vector<NodeDecl> nodes_;
  int64_t num_expansions_ = 0;
  int64_t num_values_ = 0;
};

}  // namespace

bool is_graph_name(std::string_view text) {
  // ASCII without the locale: isalnum() may take other letters.
  return !text.empty() && text.size() <= 1024 && std::ranges::all_of(text, is_name_char);
}

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::kFloat64:
      return "float64";
    case Precision::kFloat32:
      return "float32";
    case Precision::kMixed:
      return "mixed";
  }
  return "unknown";
}

Result<Precision> read_precision(const YamlNode& node) {
  QUERN_ASSIGN_OR_RETURN(const std::string text, text_of(node, "'precision'"));
  for (const Precision p : {Precision::kFloat64, Precision::kFloat32, Precision::kMixed}) {
    if (precision_name(p) == text) return p;
  }
  return error_at(node.place,
                  fmt::format("'precision' is '{}'; the choices are float64, float32 and "
                              "mixed.",
                              text));
}

// Errors: kInvalidArgument with file and line, also past the limits.
Result<std::vector<NodeDecl>> read_nodes(const YamlNode& list, const Variables& variables) {
  NodeReader reader(variables);
  QUERN_TRY(reader.read_list(list));
  return reader.take_nodes();
}

}  // namespace quern::manifest
