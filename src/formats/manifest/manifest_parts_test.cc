// The sections of a manifest, the order of its nodes and the paths of its files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "formats/manifest/declarations.h"
#include "formats/manifest/manifest.h"
#include "formats/manifest/manifest_files.h"
#include "formats/manifest/node_order.h"
#include "quern/op.h"

namespace quern::manifest {
namespace {

// What a manifest declares, or the error.
Result<Declarations> declared(std::string_view text) {
  auto root = parse_yaml(text, "d.yaml");
  if (!root) return tl::unexpected(root.error());
  return read_declarations(*root, {});
}

// Why the sections cannot be read.
std::string error_of(std::string_view text) {
  const auto declarations = declared(text);
  return declarations ? "no error" : declarations.error().message;
}

// A text that must be refused, and the whole sentence of its error.
struct ErrorCase {
  const char* text;
  const char* error;
};

// One row for each place where a value can be of the wrong kind.
TEST(Declarations, ErrorsOfSectionsNameFileAndLine) {
  const ErrorCase cases[] = {
      {"quern: one\n", "d.yaml:1: 'quern' is 'one'; an integer of 64 bits is needed."},
      {"quern: 1\nname: [a]\n", "d.yaml:2: 'name' is a list; text is needed."},
      {"quern: 1\nprecision: [float32]\n", "d.yaml:2: 'precision' is a list; text is needed."},
      {"quern: 1\nweight_files: {a: b}\n", "d.yaml:2: 'weight_files' is a map; a list is needed."},
      {"quern: 1\nweight_files:\n  - a\n  - [b]\n",
       "d.yaml:4: 'weight_files' is a list; text is needed."},
      {"quern: 1\nstates: [kv]\n", "d.yaml:2: 'states' is a list; a map is needed."},
      {"quern: 1\nstates:\n  kv: {layers: 2}\n",
       "d.yaml:3: The state 'kv' has the unknown key 'layers'; the keys are kind, attributes."},
      {"quern: 1\nstates:\n  kv: {attributes: {}}\n",
       "d.yaml:3: The state 'kv' needs the key 'kind'."},
      {"quern: 1\nstates:\n  kv: {kind: kv, attributes: 3}\n",
       "d.yaml:3: The state 'kv' is '3'; a map is needed."},
      {"quern: 1\nstates:\n  kv:\n    kind: kv\n    attributes: {a: {b: 1}}\n",
       "d.yaml:5: The state 'kv' is a map; text is needed."},
      {"quern: 1\ninputs: 3\n", "d.yaml:2: 'inputs' is '3'; a map is needed."},
      {"quern: 1\ninputs:\n  x: {dtype: f32}\n", "d.yaml:3: The input 'x' needs the key 'shape'."},
      {"quern: 1\ninputs:\n  x: {shape: 4}\n", "d.yaml:3: The input 'x' is '4'; a list is needed."},
      {"quern: 1\ninputs:\n  x: {shape: [4], name: w}\n",
       "d.yaml:3: The input 'x' has the unknown key 'name'; the keys are shape, dtype."},
      {"quern: 1\ninputs:\n  x: [1, 2, 3, 4, 5, 6, 7, 8, 9]\n",
       "d.yaml:3: The input 'x' has 9 extents; the limit is 8."},
      {"quern: 1\ninputs:\n  x: [[1]]\n", "d.yaml:3: The input 'x' is a list; text is needed."},
      {"quern: 1\nweights:\n  w: {shape: [1], dtype: f33}\n",
       "d.yaml:3: The weight 'w' is 'f33', which is no dtype."},
      {"quern: 1\nweights:\n  w: {shape: [1], name: [a]}\n",
       "d.yaml:3: The weight 'w' is a list; text is needed."},
      {"quern: 1\nconstants:\n  c: text\n",
       "d.yaml:3: The constant 'c' is 'text'; a number is needed."},
      {"quern: 1\nconstants:\n  c: [1, [2]]\n",
       "d.yaml:3: The constant 'c' is a list; a number is needed."},
      {"quern: 1\nconstants:\n  c: {shape: [2]}\n",
       "d.yaml:3: The constant 'c' needs the key 'values'."},
      {"quern: 1\nconstants:\n  c: {values: [2]}\n",
       "d.yaml:3: The constant 'c' needs the key 'shape'."},
      {"quern: 1\nconstants:\n  c: {shape: [1], values: {a: 1}}\n",
       "d.yaml:3: The constant 'c' is a map; a list is needed."},
      {"quern: 1\nnodes: {a: b}\n", "d.yaml:2: 'nodes' is a map; a list is needed."},
      {"quern: 1\nnodes:\n  - a\n", "d.yaml:3: An item of 'nodes' is 'a'; a map is needed."},
      {"quern: 1\nnodes:\n  - {id: [a], op: math.exp}\n",
       "d.yaml:3: 'id' of a node is a list; text is needed."},
      {"quern: 1\nnodes:\n  - {id: a, op: {b: c}}\n",
       "d.yaml:3: 'op' of node 'a' is a map; text is needed."},
      {"quern: 1\nnodes:\n  - {id: a, op: b, attributes: [1]}\n",
       "d.yaml:3: 'attributes' of node 'a' is a list; a map is needed."},
      {"quern: 1\nnodes:\n  - {id: a, op: b, in: [[x]]}\n",
       "d.yaml:3: 'in' of node 'a' is a list; text is needed."},
      {"quern: 1\nnodes:\n  - {id: a, op: b, in: ['']}\n", "d.yaml:3: 'in' of node 'a' is empty."},
      {"quern: 1\nnodes:\n  - {id: a, op: b, out: c}\n",
       "d.yaml:3: A node has the unknown key 'out'; the keys are id, op, in, attributes, "
       "precision, device."},
      {"quern: 1\nnodes:\n  - {repeat: 1, times: 2, nodes: []}\n",
       "d.yaml:3: A repeat has the unknown key 'times'; the keys are repeat, index, offset, "
       "nodes."},
      {"quern: 1\nnodes:\n  - {repeat: 1, index: [i], nodes: []}\n",
       "d.yaml:3: 'index' of a repeat is a list; text is needed."},
      {"quern: 1\nnodes:\n  - {repeat: 1, index: a.b, nodes: []}\n",
       "d.yaml:3: The index 'a.b' of a repeat is not a name; letters, digits and _ make one."},
      {"quern: 1\nnodes:\n  - repeat: 1\n    nodes:\n      - {repeat: 1, nodes: []}\n",
       "d.yaml:5: The index 'index' of a repeat hides a variable or an outer index of that name."},
      {"quern: 1\nnodes:\n  - {repeat: 1, offset: x, nodes: []}\n",
       "d.yaml:3: 'offset' of a repeat is 'x'; an integer of 64 bits is needed."},
      {"quern: 1\noutputs: y\n", "d.yaml:2: 'outputs' is text; a map or a list is needed."},
      {"quern: 1\noutputs:\n  - [y]\n", "d.yaml:3: An output is a list; text is needed."},
      {"quern: 1\noutputs:\n  y: [z]\n", "d.yaml:3: The output 'y' is a list; text is needed."},
  };
  for (const ErrorCase& c : cases) EXPECT_EQ(error_of(c.text), c.error) << c.text;
}

// Every section has a short and a long form.
TEST(Declarations, ShortFormsMeanTheSame) {
  const auto short_form = declared(
      "quern: 1\nprecision: float32\ninputs: {x: [T, 4]}\nweights: {w: 'f16[4]'}\nconstants: {c: "
      "[1, 2]}\noutputs: [x]\n");
  const auto long_form = declared(
      "quern: 1\nprecision: float32\ninputs: {x: {shape: [T, 4]}}\nweights:\n  w: {shape: [4], "
      "dtype: f16, name: w}\nconstants:\n  c: {shape: [2], values: [1, 2]}\noutputs: {x: x}\n");
  ASSERT_TRUE(short_form) << short_form.error().message;
  ASSERT_TRUE(long_form) << long_form.error().message;
  for (const auto section :
       {&Declarations::inputs, &Declarations::weights, &Declarations::constants}) {
    const ValueDecl& a = (*short_form.*section)[0];
    const ValueDecl& b = (*long_form.*section)[0];
    EXPECT_EQ(a.type.to_string(), b.type.to_string());
    EXPECT_EQ(a.weight, b.weight);
    EXPECT_EQ(a.values, b.values);
  }
  EXPECT_EQ(short_form->inputs[0].type.to_string(), "f32[T, 4]");
  EXPECT_EQ(short_form->outputs[0].second.name, long_form->outputs[0].second.name);
}

// A key without a value is null, which is not an error.
TEST(Declarations, EmptySectionsDeclareNothing) {
  const auto d = declared("quern: 1\nstates:\ninputs:\nweights:\nconstants:\nnodes:\noutputs:\n");
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_TRUE(d->states.empty() && d->inputs.empty() && d->weights.empty());
  EXPECT_TRUE(d->constants.empty() && d->nodes.empty() && d->outputs.empty());
}

// null, ~ and _ by position or by port.
TEST(Declarations, AbsentInputsAreEmptyNames) {
  const auto d = declared(
      "quern: 1\nnodes:\n  - {id: a, op: b, in: [x, ~, _]}\n  - {id: c, op: b, in: {p: null, q: "
      "a}}\n");
  ASSERT_TRUE(d) << d.error().message;
  ASSERT_EQ(d->nodes[0].inputs.size(), 3U);
  EXPECT_EQ(d->nodes[0].inputs[0].name, "x");
  EXPECT_EQ(d->nodes[0].inputs[1].name, "");
  EXPECT_EQ(d->nodes[0].inputs[2].name, "");
  EXPECT_TRUE(d->nodes[0].ports.empty());
  EXPECT_EQ(d->nodes[1].ports, (std::vector<std::string>{"p", "q"}));
}

// The count of an inner repeat may depend on the outer index.
TEST(Declarations, RepeatsCountFromTheirOffset) {
  const auto d = declared(
      "quern: 1\nvariables: {n: 2}\nnodes:\n  - repeat: ${n}\n    index: i\n    offset: -1\n    "
      "nodes:\n      - repeat: ${i + 2}\n        index: j\n        nodes: [{id: 'v${i}.${j}', op: "
      "b}]\n");
  ASSERT_TRUE(d) << d.error().message;
  std::vector<std::string> ids;
  for (const NodeDecl& node : d->nodes) ids.push_back(node.id);
  // i runs over -1 and 0; the inner count i + 2 is 1 and then 2.
  EXPECT_EQ(ids, (std::vector<std::string>{"v-1.0", "v0.0", "v0.1"}));
}

// Node order -----------------------------------------------------------------------------------

// Nodes n0, n1, ... without inputs.
std::vector<NodeDecl> nodes_named(size_t count) {
  std::vector<NodeDecl> nodes(count);
  for (size_t i = 0; i < count; ++i) nodes[i].id = fmt::format("n{}", i);
  return nodes;
}

using Edges = std::vector<std::vector<size_t>>;

// The order of nodes that depend on each other like this.
Result<std::vector<size_t>> order_of(const Edges& edges) {
  return order_nodes(nodes_named(edges.size()), [&](size_t i) { return edges[i]; });
}

// Files that are in order must give the same graph every time.
TEST(NodeOrder, KeepsTheOrderOfAnOrderedList) {
  EXPECT_EQ(order_of({}).value(), std::vector<size_t>{});
  EXPECT_EQ(order_of({{}, {0}, {1, 0}, {}}).value(), (std::vector<size_t>{0, 1, 2, 3}));
  // 0 needs 2, and 2 needs 1: node 0 moves behind both, and nothing else moves.
  EXPECT_EQ(order_of({{2}, {}, {1}}).value(), (std::vector<size_t>{1, 2, 0}));
}

// Every node stands behind what it needs.
TEST(NodeOrder, RandomGraphsWithoutCyclesAreOrdered) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const size_t count = 1 + random() % 40;
    std::vector<size_t> hidden(count);  // a hidden order that allows the edges
    for (size_t i = 0; i < count; ++i) hidden[i] = i;
    std::shuffle(hidden.begin(), hidden.end(), random);
    Edges edges(count);
    for (size_t i = 1; i < count; ++i) {
      // Edges lead back in the hidden order only, so that no cycle can arise; up to 3, perhaps
      // twice the same.
      for (size_t k = random() % 4; k > 0; --k) edges[hidden[i]].push_back(hidden[random() % i]);
    }
    const auto order = order_of(edges);
    ASSERT_TRUE(order) << order.error().message;
    std::vector<size_t> position(count, count);
    for (size_t i = 0; i < order->size(); ++i) position[(*order)[i]] = i;
    for (size_t node = 0; node < count; ++node) {
      ASSERT_LT(position[node], count);
      for (const size_t needed : edges[node]) EXPECT_LT(position[needed], position[node]);
    }
  }
}

// Long ones with their first nodes only.
TEST(NodeOrder, CyclesAreNamed) {
  EXPECT_EQ(order_of({{1}, {2}, {1}}).error().message,
            "manifest: Node 'n1' is part of a cycle: n1 <- n2 <- n1.");
  // Longer than the 8 nodes that an error shows.
  Edges ring(20);
  for (size_t i = 0; i < ring.size(); ++i) ring[i] = {(i + 1) % ring.size()};
  EXPECT_EQ(order_of(ring).error().message,
            "manifest: Node 'n0' is part of a cycle: n0 <- n1 <- n2 <- n3 <- n4 <- n5 <- n6 <- n7 "
            "<- ... <- "
            "n0.");
}

// A recursive search would overflow here.
TEST(NodeOrder, LongChainsNeedNoStack) {
  constexpr size_t kLong = 200'000;
  Edges chain(kLong);
  for (size_t i = 0; i + 1 < kLong; ++i) chain[i] = {i + 1};
  const auto order = order_of(chain);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->front(), kLong - 1);
  EXPECT_EQ(order->back(), 0U);
}

// Paths ----------------------------------------------------------------------------------------

// A file's folder, a path written in it, and where that leads.
struct PathCase {
  const char* base;
  const char* written;
  const char* path;  // null: refused
};

// A manifest must not read files outside of its folder.
TEST(ManifestFiles, PathsAreNormalisedAndInside) {
  const PathCase cases[] = {
      {"", "a.yaml", "a.yaml"},
      {"", "./a.yaml", "a.yaml"},
      {"p", "a.yaml", "p/a.yaml"},
      {"p", "../a.yaml", "a.yaml"},
      {"p/q", "../../a.yaml", "a.yaml"},
      {"p/q", "../../../a.yaml", nullptr},
      // Leads out of p and in again: normalised, it is inside.
      {"p", "../p/./q//a.yaml", "p/q/a.yaml"},
      // Names that begin with dots are names.
      {"", "..a", "..a"},
      {"", "...", "..."},
      {"", "a/..", nullptr},
      {"", "a/b/..", nullptr},
      {"", "/a.yaml", nullptr},
      {"p", "/p/a.yaml", nullptr},
      {"", "", nullptr},
      {"p", "", nullptr},
      {"p", ".", nullptr},
      {"p", "a/", nullptr},
  };
  for (const PathCase& c : cases) {
    const auto path = path_inside_folder(c.base, c.written);
    if (c.path == nullptr) {
      EXPECT_FALSE(path) << c.base << " + " << c.written << " is " << path.value_or("");
    } else {
      EXPECT_EQ(path, c.path) << c.base << " + " << c.written;
    }
  }
}

// Writer ---------------------------------------------------------------------------------------

// null, true and numbers are names here.
TEST(ManifestWriter, NamesThatLookLikeOtherThingsAreQuoted) {
  for (const char* name :
       {"null", "true", "nan", "inf", "1", "-", "1e3", "yes", "a:0", "a.b/c", "~x", "0x1"}) {
    const auto graph = parse_graph(
        fmt::format("graph {{\n  %x = Input() {{type = \"f32[2]\"}} : f32[2]\n  output {} = "
                    "%x\n}}\n",
                    name),
        builtin_ops());
    if (!graph) continue;  // the text form has no such name
    const auto yaml = print_manifest(*graph, name);
    ASSERT_TRUE(yaml) << yaml.error().message;
    const auto back = parse_manifest(
        *yaml, "w.yaml", [](const std::string& path) -> Result<std::string> { return path; },
        builtin_ops());
    ASSERT_TRUE(back) << back.error().message << "\n" << *yaml;
    EXPECT_EQ(back->name, name);
    ASSERT_EQ(back->graph.outputs().size(), 1U);
    EXPECT_EQ(back->graph.outputs()[0].name, name);
  }
}

}  // namespace
}  // namespace quern::manifest
