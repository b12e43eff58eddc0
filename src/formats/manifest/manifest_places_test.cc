// Errors of later stages at the lines of the manifest that they are about.
#include "formats/manifest/manifest_places.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "formats/manifest/manifest.h"
#include "quern/op.h"

namespace quern {
namespace {

constexpr std::string_view kPlaced = R"(quern: 1
inputs:
  x: [T, 4]
  rows: {shape: [R], dtype: i32}
weights:
  w: {shape: [4], name: "first.scale"}
states:
  kv: {kind: kv, attributes: {layers: 1, heads: 1, key_dim: 4, value_dim: 4, key_type: f32, value_type: f32}}
nodes:
  - {id: "blk.0", op: math.mul, in: [x, w]}
  - {id: pick, op: shape.gather_rows, in: ["blk.0", rows]}
outputs:
  y: pick
)";

// Errors of loading and running name things as the manifest does.
TEST(ManifestPlaces, LaterErrorsGetTheLineOfWhatTheyName) {
  const auto manifest = parse_manifest(kPlaced, "m.yaml", {}, builtin_ops());
  ASSERT_TRUE(manifest) << manifest.error().message;
  const std::pair<const char*, int> cases[] = {
      {"Node 'pick' (shape.gather_rows): Element 1 of 'rows' is 5; 'x' has 2 rows.", 11},
      {"Node 'pick': Element 0 of 'rows' is -1.", 11},
      {"Backend b cannot run math.mul (node 'blk.0'): no f64.", 10},
      {"Node 'blk.0.broadcast.b': no.", 10},  // made for another
      {"Node 'blk.0:y.part': no.", 10},
      {"Node 'w': no.", 6},
      {"Input 'x' has 5 along axis 1; the graph needs 4.", 3},
      {"The graph's input 'rows' is not bound.", 4},
      {"There is no weight 'first.scale' in a.gguf.", 6},
      {"Weight 'first.scale' is f32[5]; the graph needs f64[4].", 6},
      {"The memory for output 'y' is f32[2].", 13},
      {"The graph's state 'kv' is not bound.", 8},
      {"File 'x' is odd: node 'pick' needs it.", 11},  // a file's name is none of the manifest's
  };
  for (const auto& [message, line] : cases) {
    const Error error{ErrorCode::kOutOfRange, message};
    const Error placed = at_declaration(manifest->places, manifest->graph, error);
    EXPECT_EQ(placed.message, fmt::format("m.yaml:{}: {}", line, message));
    EXPECT_EQ(placed.code, ErrorCode::kOutOfRange);
  }
}

// No line is better than a wrong one.
TEST(ManifestPlaces, OtherErrorsStayAsTheyAre) {
  const auto manifest = parse_manifest(kPlaced, "m.yaml", {}, builtin_ops());
  for (const char* message :
       {"", "'", "''", "'pick'", "Node", "Node '", "Node 'pick", "Node ''", "Node 'other': no.",
        "The graph has no input 'pick'.", "The graph has no output 'x'.",
        "There is no weight 'w' in a.gguf.", "State 'y' is odd.", "File 'pick' cannot be opened.",
        "Node 'pick2': no.", "There is no memory left."}) {
    const Error error{ErrorCode::kInternal, message};
    EXPECT_EQ(at_declaration(manifest->places, manifest->graph, error).message, message);
  }
}

}  // namespace
}  // namespace quern
