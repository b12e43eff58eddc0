// What a manifest declares, after includes, variables and repeats: flat lists with places.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/manifest/variables.h"
#include "formats/manifest/yaml_tree.h"
#include "quern/graph.h"

namespace quern::manifest {

// Limits on `repeat`. An expansion is one round of a repeat or one node that it makes.
inline constexpr int64_t kMaxRepeats = 4'096;      // rounds of one repeat
inline constexpr int64_t kMaxExpansions = 65'536;  // of one manifest

// In which precision a node computes. `mixed`: its inputs are taken as they are.
enum class Precision : uint8_t { kFloat64, kFloat32, kMixed };
// "float64", "float32", "mixed": the words of manifests.
std::string_view precision_name(Precision precision);
// Errors: kInvalidArgument with the place, for another word.
Result<Precision> read_precision(const YamlNode& node);

// Whether the text form of graphs takes the text as a name: 1 to 1,024 letters, digits, _ . : - /.
bool is_graph_name(std::string_view text);

// The use of a value: "x" for the only output of node x, "x:port" for one of several.
struct ValueRef {
  // Where it is written, for errors.
  Place place;
  std::string name;  // empty: an absent optional input
};

// One node, with `repeat` unrolled and variables replaced.
struct NodeDecl {
  Place place;
  std::string id;
  std::string op;
  // In port order, or by port: then each has a name. Never a mixture.
  std::vector<ValueRef> inputs;
  std::vector<std::string> ports;  // empty where the inputs are in port order
  // As written; their kinds are those of the operation.
  std::vector<std::pair<std::string, YamlNode>> attributes;
  std::optional<Precision> precision;  // absent: the manifest's
  std::string device;                  // empty: the one that the graph is compiled for
};

// An input, a weight or a constant.
struct ValueDecl {
  // Where it is written, for errors.
  Place place;
  std::string id;
  TensorType type;
  std::string weight;          // name in the weight source
  std::vector<double> values;  // of a constant
};

//   quern: 1                          # version of the format; always the first thing checked
//   variables: {layers: 2}
//   inputs:  {x: "f32[T, 64]"}        # or [T, 64] in the manifest's precision
//   weights: {w: {shape: [64, 64], dtype: f16, name: "blk.0.w"}}
//   nodes:
//     - {id: e, op: math.exp, in: x}
//     - {repeat: "${layers}", index: i, nodes: [...]}
//   outputs: {y: e}

// All sections, in the order of the file.
struct Declarations {
  std::string name;
  Precision precision = Precision::kFloat64;
  Place weight_files_place;
  std::vector<std::string> weight_files;  // relative to the manifest's folder, inside it
  // States with their places; the graph checks what they hold.
  std::vector<std::pair<Place, StateDecl>> states;
  // In the file's order, which is the order of the graph's nodes.
  std::vector<ValueDecl> inputs;
  std::vector<ValueDecl> weights;
  std::vector<ValueDecl> constants;
  std::vector<NodeDecl> nodes;
  std::vector<std::pair<std::string, ValueRef>> outputs;
};

// Reads the tree of a whole manifest. Errors: kInvalidArgument and kNotFound with file and line.
Result<Declarations> read_declarations(const YamlNode& root,
                                       const std::map<std::string, std::string>& overrides);

// The nodes of a list with `repeat` unrolled.
Result<std::vector<NodeDecl>> read_nodes(const YamlNode& list, const Variables& variables);

}  // namespace quern::manifest
