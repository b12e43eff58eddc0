#include "formats/manifest/manifest.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/manifest/declarations.h"
#include "quern/graph_builder.h"
#include "quern/op.h"
#include "support/temporary_folder.h"

namespace quern {
namespace {

// A loader for manifests without includes.
Result<std::string> no_files(const std::string& path) {
  return fail::not_found("There is no file '{}'.", path);
}

// With the operations of this build.
Result<Manifest> parse(std::string_view text, const std::map<std::string, std::string>& set = {}) {
  return parse_manifest(text, "m.yaml", no_files, builtin_ops(), {.variables = set});
}

// The text form of the graph, or the error.
std::string graph_of(std::string_view text, const std::map<std::string, std::string>& set = {}) {
  const auto manifest = parse(text, set);
  return manifest ? print_graph(manifest->graph) : manifest.error().message;
}

constexpr std::string_view kMlp = R"(quern: 1
name: mlp
variables:
  layers: 2
  size: {in: 4, hidden: 8}
inputs:
  x: [T, "${size.in}"]
weights:
  w0: {shape: ["${size.in}", "${size.hidden}"]}
nodes:
  - {id: h0, op: math.matmul, in: {a: x, b: w0}}
  - repeat: ${layers}
    index: i
    offset: 1
    nodes:
      - id: w${i}
        op: graph.weight
        attributes: {weight: "layers.${i}", type: "f64[8, 8]"}
      - {id: "r${i}", op: activation.relu, in: "h${i - 1}"}
      - {id: "h${i}", op: math.matmul, in: ["r${i}", "w${i}"]}
outputs:
  y: h${layers}
)";

// With indices in names and expressions.
TEST(Manifest, RepeatsMakeLayers) {
  EXPECT_EQ(graph_of(kMlp), R"(graph {
  %x = Input() {type = "f64[T, 4]"} : f64[T, 4]
  %w0 = graph.weight() {type = "f64[4, 8]", weight = "w0"} : f64[4, 8]
  %h0 = math.matmul(%x, %w0) : f64[T, 8]
  %w1 = graph.weight() {type = "f64[8, 8]", weight = "layers.1"} : f64[8, 8]
  %r1 = activation.relu(%h0) : f64[T, 8]
  %h1 = math.matmul(%r1, %w1) : f64[T, 8]
  %w2 = graph.weight() {type = "f64[8, 8]", weight = "layers.2"} : f64[8, 8]
  %r2 = activation.relu(%h1) : f64[T, 8]
  %h2 = math.matmul(%r2, %w2) : f64[T, 8]
  output y = %h2
}
)");
  EXPECT_EQ(parse(kMlp)->name, "mlp");
}

// From the command line, by name.
TEST(Manifest, VariablesCanBeSet) {
  const auto manifest = parse(kMlp, {{"layers", "5"}});
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_NE(manifest->graph.find_value("h5"), kNoValue);
  // No rounds at all: the output is then the node before the repeat.
  EXPECT_EQ(graph_of(kMlp, {{"layers", "0"}}).find("h1"), std::string::npos);
  EXPECT_EQ(graph_of(kMlp, {{"depth", "5"}}), "The manifest has no variable 'depth' to set.");
}

// People write outputs first.
TEST(Manifest, NodesMayStandInAnyOrder) {
  EXPECT_EQ(graph_of(R"(quern: 1
inputs: {x: "f64[2]"}
nodes:
  - {id: c, op: math.exp, in: b}
  - {id: b, op: math.exp, in: a}
  - {id: a, op: math.exp, in: x}
outputs: [c]
)"),
            R"(graph {
  %x = Input() {type = "f64[2]"} : f64[2]
  %a = math.exp(%x) : f64[2]
  %b = math.exp(%a) : f64[2]
  %c = math.exp(%b) : f64[2]
  output c = %c
}
)");
}

// float64 is the default precision of manifests.
TEST(Manifest, Float32IsOptIn) {
  EXPECT_EQ(graph_of(R"(quern: 1
inputs: {x: [2]}
nodes:
  - {id: a, op: math.exp, in: x, precision: float32}
  - {id: b, op: math.exp, in: a}
)"),
            R"(graph {
  %x = Input() {type = "f64[2]"} : f64[2]
  %a.cast.x = math.cast(%x) {to = "f32"} : f32[2]
  %a = math.exp(%a.cast.x) : f32[2]
  %b.cast.x = math.cast(%a) {to = "f64"} : f64[2]
  %b = math.exp(%b.cast.x) : f64[2]
}
)");
  EXPECT_EQ(graph_of("quern: 1\nprecision: float32\ninputs: {x: [2]}\nconstants: {c: [1, 2]}\n"
                     "nodes: [{id: a, op: math.add, in: [x, c]}]\n"),
            R"(graph {
  %x = Input() {type = "f32[2]"} : f32[2]
  %c = graph.constant() {type = "f32[2]", values = f[1.0, 2.0]} : f32[2]
  %a = math.add(%x, %c) : f32[2]
}
)");
}

// No casts are put in.
TEST(Manifest, MixedTakesInputsAsTheyAre) {
  const std::string text = graph_of(
      "quern: 1\nprecision: mixed\ninputs: {x: 'f16[2]'}\nnodes: [{id: a, op: math.exp, in: x}]\n");
  EXPECT_NE(text.find("%a = math.exp(%x) : f16[2]"), std::string::npos) << text;
}

// The graph has explicit nodes for it.
TEST(Manifest, ShapesBroadcastAsInNumpy) {
  EXPECT_EQ(graph_of(R"(quern: 1
inputs: {x: [T, 3], column: [T, 1], y: [2, 1, 4], z: [3, 1]}
nodes:
  - {id: a, op: math.mul, in: [x, column]}
  - {id: b, op: elementwise.sub, in: [y, z]}
  - {id: c, op: math.mul, in: [x, half]}
constants: {half: 0.5}
)"),
            R"(graph {
  %x = Input() {type = "f64[T, 3]"} : f64[T, 3]
  %column = Input() {type = "f64[T, 1]"} : f64[T, 1]
  %y = Input() {type = "f64[2, 1, 4]"} : f64[2, 1, 4]
  %z = Input() {type = "f64[3, 1]"} : f64[3, 1]
  %half = graph.constant() {type = "f64[]", values = f[0.5]} : f64[]
  %a.broadcast.y = shape.broadcast(%column, %x) : f64[T, 3]
  %a = math.mul(%x, %a.broadcast.y) : f64[T, 3]
  %b.broadcast.a = shape.broadcast(%y) {shape = [2, 3, 4]} : f64[2, 3, 4]
  %b.broadcast.b = shape.broadcast(%z) {shape = [2, 3, 4]} : f64[2, 3, 4]
  %b = elementwise.sub(%b.broadcast.a, %b.broadcast.b) : f64[2, 3, 4]
  %c.broadcast.y = shape.broadcast(%half, %x) : f64[T, 3]
  %c = math.mul(%x, %c.broadcast.y) : f64[T, 3]
}
)");
}

// By the kinds that operations declare.
TEST(Manifest, AttributesOfEveryKind) {
  const std::string text = graph_of(R"(quern: 1
inputs: {x: "f64[6]", u: [2, 3]}
nodes:
  - {id: a, op: shape.reshape, in: x, attributes: {shape: [2, -1]}}
  - {id: b, op: math.layernorm, in: a, attributes: {eps: 1e-3}}
  - {id: c, op: math.dropout, in: b, attributes: {training: false, p: 0.5, seed: -7}}
  - {id: d, op: activation.gelu, in: c, attributes: {approximate: tanh}}
)");
  for (const char* part : {"{shape = [2, -1]}", "eps = 0.001", "seed = -7", "training = false",
                           "approximate = \"tanh\""}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

// Optional ports may be left out.
TEST(Manifest, PortsAndOutputsByName) {
  const std::string text = graph_of(R"(quern: 1
precision: mixed
inputs: {logits: "f64[8]", g: "f64[8]"}
nodes:
  - {id: s, op: sampling.top_k_sample, in: {logits: logits}, attributes: {top_k: 2}}
  - {id: n, op: math.layernorm, in: {bias: g, x: logits}}
outputs: {token: "s:token", probs: "s:kept_probs"}
)");
  EXPECT_NE(text.find("output token = %s:token"), std::string::npos) << text;
  EXPECT_NE(text.find("%n = math.layernorm(%logits, _, %g)"), std::string::npos) << text;
}

// A text that must be refused, and the whole sentence of its error.
struct ErrorCase {
  const char* text;
  const char* error;
};

// Some operations have several forms.
TEST(Manifest, PortsAreThoseOfTheForm) {
  constexpr std::string_view kTable = R"(quern: 1
inputs:
  y: [3, 4]
  z: [4]
nodes:
  - {id: e, op: causal.backdoor_adjustment, in: {p_z: z, p_y_given_xz: y}, attributes: {form: table}}
outputs: {e: e}
)";
  const auto manifest = parse(kTable);
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_NE(print_graph(manifest->graph).find("causal.backdoor_adjustment(%y, %z)"),
            std::string::npos);
  const auto text = print_manifest(manifest->graph, "");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("p_y_given_xz: y, p_z: z"), std::string::npos) << *text;
  // The samples' ports are no ports of the table.
  std::string samples(kTable);
  samples.replace(samples.find("p_z: z"), 6, "X: z");
  EXPECT_NE(graph_of(samples).find("has no input 'X'; it has p_y_given_xz, p_z."),
            std::string::npos)
      << graph_of(samples);
}

// The line of what is wrong, not of where it was noticed.
TEST(Manifest, ErrorsNameFileAndLine) {
  const ErrorCase cases[] = {
      {"quern: 2\n", "m.yaml:1: The manifest has version 2; this build reads version 1."},
      {"name: x\n", "m.yaml:1: A manifest needs the key 'quern'."},
      {"- x\n", "m.yaml:1: A manifest is a list; a map is needed."},
      {"quern: 1\nnods: []\n",
       "m.yaml:2: A manifest has the unknown key 'nods'; the keys are quern, name, precision, "
       "variables, weight_files, states, inputs, weights, constants, nodes, outputs."},
      {"quern: 1\ninputs: {x: [2]}\nnodes:\n  - {id: a, op: math.exp, in: y}\n",
       "m.yaml:4: Node 'a' takes 'y', which nothing declares."},
      {"quern: 1\ninputs: {x: [2]}\nnodes:\n  - {id: a, op: math.exp, in: x}\n"
       "  - {id: a, op: math.exp, in: x}\n",
       "m.yaml:5: 'a' is already produced at m.yaml:4."},
      {"quern: 1\ninputs: {x: [2]}\nnodes:\n  - {id: x, op: math.exp, in: x}\n",
       "m.yaml:4: 'x' is already produced at m.yaml:2."},
      {"quern: 1\nnodes:\n  - {id: a, op: math.exp, in: b}\n  - {id: b, op: math.exp, in: a}\n",
       "m.yaml:3: Node 'a' is part of a cycle: a <- b <- a."},
      {"quern: 1\nnodes:\n  - {id: a, op: math.exp, in: a}\n",
       "m.yaml:3: Node 'a' is part of a cycle: a <- a."},
      {"quern: 1\ninputs: {x: [2]}\noutputs:\n  y: z\n",
       "m.yaml:4: Output 'y' takes 'z', which nothing declares."},
      {"quern: 1\nnodes:\n  - {id: a, op: no.op}\n",
       "m.yaml:3: Node 'a' has the unknown operation 'no.op'."},
      {"quern: 1\ninputs: {x: [2]}\nnodes:\n  - {id: a, op: math.exp, in: x,\n"
       "     attributes: {alpha: 1}}\n",
       "m.yaml:5: Node 'a': math.exp has no attribute 'alpha'; it has none."},
      {"quern: 1\ninputs: {x: [2]}\nnodes:\n  - {id: a, op: math.exp, in: {z: x}}\n",
       "m.yaml:4: Node 'a': math.exp has no input 'z'; it has x."},
      {"quern: 1\ninputs: {x: [2]}\nnodes:\n  - {id: a, op: math.exp, in: x}\n"
       "  - {id: b, op: math.exp, in: 'a:z'}\n",
       "m.yaml:5: Node 'b' takes 'a:z'; the node has the one output 'y'."},
      {"quern: 1\ninputs: {x: [2]}\nnodes:\n  - {id: a, op: math.softmax, in: [x, x]}\n",
       "m.yaml:4: Node 'a': math.softmax takes at most 1 inputs; 2 were given."},
      {"quern: 1\ninputs: {x: [2], y: [3]}\nnodes:\n  - {id: a, op: math.mul, in: [x, y]}\n",
       "m.yaml:4: Node 'a': Ports 'x' and 'y' have types f64[2] and f64[3], which do not broadcast "
       "to a common shape."},
      {"quern: 1\ninputs:\n  x: [t]\n",
       "m.yaml:3: 't' is not a dim; a dim is a number, a letter or number*letter."},
      {"quern: 1\ninputs:\n  x: {shape: [2], dtype: float}\n",
       "m.yaml:3: The input 'x' is 'float', which is no dtype."},
      {"quern: 1\ninputs:\n  a b: [2]\n",
       "m.yaml:3: The id 'a b' is not made of letters, digits and _ . : - /."},
      {"quern: 1\nprecision: double\n",
       "m.yaml:2: 'precision' is 'double'; the choices are float64, float32 and mixed."},
      {"quern: 1\nnodes:\n  - {op: math.exp}\n", "m.yaml:3: A node needs the key 'id'."},
      {"quern: 1\nnodes:\n  - {id: a, in: b}\n", "m.yaml:3: Node 'a' needs the key 'op'."},
      {"quern: 1\nnodes:\n  - {id: a, op: math.exp, device: 'my gpu'}\n",
       "m.yaml:3: The device 'my gpu' of node 'a' is not made of letters, digits and _ . : - /."},
      {"quern: 1\nnodes:\n  - {id: a, op: math.exp, device: ''}\n",
       "m.yaml:3: The device '' of node 'a' is not made of letters, digits and _ . : - /."},
      {"quern: 1\ninputs: {x: [2]}\nnodes:\n  - {id: a, op: shape.reshape, in: x,\n"
       "     attributes: {shape: [1.5]}}\n",
       "m.yaml:5: Attribute 'shape' of node 'a' is '1.5'; an integer of 64 bits is needed."},
      {"quern: 1\nnodes:\n  - repeat: many\n    nodes: []\n",
       "m.yaml:3: 'repeat' is 'many'; an integer of 64 bits is needed."},
      {"quern: 1\nnodes:\n  - repeat: 3\n", "m.yaml:3: A repeat needs the key 'nodes'."},
      {"quern: 1\nvariables: {i: 1}\nnodes:\n  - {repeat: 3, index: i, nodes: []}\n",
       "m.yaml:4: The index 'i' of a repeat hides a variable or an outer index of that name."},
      {"quern: 1\nnodes: [{repeat: 1, index: 'a b', nodes: []}]\n",
       "m.yaml:2: The index 'a b' of a repeat is not a name; letters, digits and _ make one."},
      {"quern: 1\nconstants:\n  c: {shape: [3], values: [1, 2]}\n",
       "m.yaml:3: Node 'c': graph.constant: A constant of type f64[3] has 3 values; 2 are given."},
  };
  for (const ErrorCase& c : cases) EXPECT_EQ(graph_of(c.text), c.error) << c.text;
}

// One repeat inside of another.
std::string repeat_text(int64_t outer, int64_t inner, std::string_view body) {
  return fmt::format(
      "quern: 1\ninputs: {{x: [1]}}\nnodes:\n  - repeat: {}\n    index: i\n    nodes:\n"
      "      - repeat: {}\n        index: j\n        nodes: [{}]\n",
      outer, inner, body);
}

// A file of five lines could ask for 10^7 nodes.
TEST(Manifest, RepeatsAreLimited) {
  EXPECT_EQ(graph_of("quern: 1\nnodes:\n  - {repeat: 4097, nodes: []}\n"),
            "m.yaml:3: A repeat of 4097 rounds is outside 0 to 4096.");
  EXPECT_EQ(graph_of("quern: 1\nnodes:\n  - {repeat: -1, nodes: []}\n"),
            "m.yaml:3: A repeat of -1 rounds is outside 0 to 4096.");
  EXPECT_TRUE(parse("quern: 1\nnodes:\n  - {repeat: 4096, nodes: []}\n"));
  EXPECT_EQ(graph_of("quern: 1\nnodes: [{repeat: 2, offset: 9223372036854775807, nodes: []}]\n"),
            "m.yaml:2: The offset 9223372036854775807 of a repeat is too large.");
  // 4 + 4 * 4,096 rounds and 2 * 4 * 4,096 nodes: below the limit; 8 of them are above.
  const std::string two =
      "{id: 'a.${i}.${j}', op: math.exp, in: x}, {id: 'b.${i}.${j}', op: "
      "math.exp, in: 'a.${i}.${j}'}";
  EXPECT_TRUE(parse(repeat_text(4, 4096, two)));
  EXPECT_EQ(graph_of(repeat_text(8, 4096, two)),
            "m.yaml:9: The manifest's repeats make more than 65536 expansions.");
  // Rounds without nodes count too.
  EXPECT_EQ(graph_of(repeat_text(4096, 4096, "")),
            "m.yaml:7: The manifest's repeats make more than 65536 expansions.");
}

// Or for few nodes with long lists.
TEST(Manifest, RepeatsOfLargeNodesAreLimited) {
  std::string values = "1";
  for (int i = 0; i < 1000; ++i) values += ", 1";
  EXPECT_EQ(graph_of(fmt::format("quern: 1\nnodes:\n  - repeat: 4096\n    nodes:\n      - {{id: "
                                 "'c${{index}}', op: graph.constant, attributes: {{values: [{}], "
                                 "type: 'f64[1001]'}}}}\n",
                                 values)),
            "m.yaml:5: The manifest's nodes hold more than 500000 values.");
}

// And errors name the included file.
TEST(Manifest, IncludesAreRelativeToTheirFile) {
  const test::TemporaryFolder folder("manifest_include");
  std::filesystem::create_directories(folder.path() / "parts/deep");
  std::ofstream(folder.file("m.yaml")) << "quern: 1\nvariables: !include parts/sizes.yaml\n"
                                          "inputs: {x: ['${n}']}\nnodes:\n  - !include "
                                          "parts/nodes.yaml\noutputs: [b]\n";
  std::ofstream(folder.file("parts/sizes.yaml")) << "n: 3\n";
  std::ofstream(folder.file("parts/nodes.yaml"))
      << "- {id: a, op: math.exp, in: x}\n- !include deep/b.yaml\n";
  std::ofstream(folder.file("parts/deep/b.yaml")) << "{id: b, op: math.exp,\n in: nothing}\n";
  const auto failed = read_manifest(folder.file("m.yaml"), builtin_ops());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, folder.file("parts/deep/b.yaml") +
                                        ":2: Node 'b' takes 'nothing', which nothing declares.");
  std::ofstream(folder.file("parts/deep/b.yaml")) << "{id: b, op: math.exp, in: a}\n";
  const auto manifest = read_manifest(folder.file("m.yaml"), builtin_ops());
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->graph.value(manifest->graph.find_value("b")).type.to_string(), "f64[3]");
}

// With files from a function.
std::string include_error(std::string_view text, const manifest::FileLoader& load) {
  const auto result = parse_manifest(text, "dir/m.yaml", load, builtin_ops());
  return result ? "no error" : result.error().message;
}

// A manifest from elsewhere must not read one's files.
TEST(Manifest, IncludesStayInsideTheFolder) {
  for (const char* path : {"/etc/passwd", "../x.yaml", "a/../../x.yaml", "..", ".", "a/", "''"}) {
    const std::string error =
        include_error(fmt::format("quern: 1\nnodes: !include {}\n", path), no_files);
    EXPECT_NE(error.find("dir/m.yaml:2: The path '"), std::string::npos) << error;
    EXPECT_NE(error.find("is not inside the manifest's folder."), std::string::npos) << error;
  }
  EXPECT_EQ(include_error("quern: 1\nnodes: !include a/../x.yaml\n", no_files),
            "dir/m.yaml:2: There is no file 'x.yaml'.");
}

// Circles, chains and sheer numbers.
TEST(Manifest, IncludesAreLimited) {
  const auto self = [](const std::string&) -> Result<std::string> {
    return std::string("!include a.yaml\n");
  };
  EXPECT_EQ(include_error("quern: 1\nnodes: !include a.yaml\n", self),
            "dir/a.yaml:1: 'a.yaml' includes itself.");
  int count = 0;
  const auto chain = [&](const std::string&) -> Result<std::string> {
    return fmt::format("!include a{}.yaml\n", ++count);
  };
  EXPECT_NE(include_error("quern: 1\nnodes: !include a.yaml\n", chain).find("more than 8 deep"),
            std::string::npos);
  const auto empty = [](const std::string&) -> Result<std::string> { return std::string("[]"); };
  std::string many = "quern: 1\nnodes:\n";
  for (int i = 0; i < 128; ++i) many += "  - !include a.yaml\n";
  EXPECT_EQ(include_error(many, empty), "no error");
  EXPECT_EQ(include_error(many + "  - !include a.yaml\n", empty),
            "dir/m.yaml:131: The manifest includes more than 128 files.");
}

// For the same reason.
TEST(Manifest, WeightFilesStayInsideTheFolder) {
  const test::TemporaryFolder folder("manifest_weights");
  std::ofstream(folder.file("m.yaml")) << "quern: 1\nweight_files: [a/w.safetensors]\n";
  EXPECT_EQ(read_manifest(folder.file("m.yaml"), builtin_ops())->weight_files,
            std::vector<std::string>{folder.file("a/w.safetensors")});
  std::ofstream(folder.file("m.yaml")) << "quern: 1\nweight_files: ../w.safetensors\n";
  EXPECT_EQ(read_manifest(folder.file("m.yaml"), builtin_ops()).error().message,
            folder.file("m.yaml") +
                ":2: The path '../w.safetensors' of 'weight_files' is not inside "
                "the manifest's folder.");
}

// By letters, in any order.
TEST(Manifest, ValuesOfAListHaveNames) {
  const std::string head =
      "quern: 1\nprecision: mixed\ninputs: {x: [2], y: [2], z: [2]}\nnodes:\n"
      "  - {id: s, op: vsa.bundle, in: ";
  const std::string by_place = graph_of(head + "[x, y, z]}\n");
  EXPECT_NE(by_place.find("vsa.bundle(%x, %y, %z)"), std::string::npos) << by_place;
  EXPECT_EQ(graph_of(head + "{c: z, a: x, b: y}}\n"), by_place);
  EXPECT_EQ(graph_of(head + "{a: x, c: y}}\n"),
            "m.yaml:5: Node 's': vsa.bundle takes any number of inputs 'a', but none that is "
            "absent: 'b'.");
  EXPECT_EQ(graph_of(head + "{a: x, a4000000000: y}}\n"),
            "m.yaml:5: Node 's': vsa.bundle has a gap before its input 'a4000000000'.");
  EXPECT_EQ(graph_of(head + "{a: x, A: y}}\n"),
            "m.yaml:5: Node 's': vsa.bundle has no input 'A'; it has a, b and so on.");
}

// Even without a value to give it.
TEST(Manifest, EmptyFilesAreNamed) {
  const test::TemporaryFolder folder("manifest_empty");
  const std::string path = folder.file("m.yaml");
  for (const char* text : {"", "\n\n", "# nothing\n", " "}) {
    std::ofstream(path) << text;
    const auto manifest = read_manifest(path, builtin_ops());
    ASSERT_FALSE(manifest) << text;
    EXPECT_EQ(manifest.error().message, path + ":1: A manifest is empty; a map is needed.");
    EXPECT_EQ(manifest.error().code, ErrorCode::kInvalidArgument);
  }
}

// IR to YAML and back --------------------------------------------------------------------------

// Graph to YAML to graph, with the same hash.
void expect_round_trip(const std::string& text) {
  const auto graph = parse_graph(text, builtin_ops());
  ASSERT_TRUE(graph) << graph.error().message;
  const auto yaml = print_manifest(*graph, "round \"trip\" ${x}");
  ASSERT_TRUE(yaml) << yaml.error().message;
  const auto back = parse(*yaml);
  ASSERT_TRUE(back) << back.error().message << "\n" << *yaml;
  EXPECT_EQ(print_graph(back->graph), text) << *yaml;
  EXPECT_EQ(semantic_hash(back->graph), semantic_hash(*graph));
  EXPECT_EQ(back->name, "round \"trip\" ${x}");
  EXPECT_EQ(print_manifest(back->graph, back->name).value(), *yaml);
}

// Names, order, types, and the semantic hash.
TEST(ManifestWriter, GraphsComeBackExactly) {
  expect_round_trip(graph_of(kMlp));
  expect_round_trip("graph {\n}\n");
  expect_round_trip(R"(graph {
  state @kv : kv {heads = 1, key_dim = 32, key_type = "f32", layers = 1, note = "5", scale = 0.1, value_dim = 32, value_type = "f32"}
  %tokens = Input() {type = "i32[T]"} : i32[T]
  %w = graph.weight() {type = "q8_0[10, 32]", weight = "token embd/$${x}\\\"\n"} : q8_0[10, 32]
  %null = Input() {type = "f32[3*T, 2]"} : f32[3*T, 2]
  %true = graph.constant() {type = "f32[3]", values = f[nan, -inf, 1e-320]} : f32[3]
  %e = embedding.token(%tokens, %w) : f32[T, 32]
  %n:1 = math.layernorm(%e) : f32[T, 32]
  %cat = shape.concat(%e, %n:1, %e) {dim = 1} : f32[T, 96]
  %d-1 = math.cast(%cat) {to = "f64"} : f64[T, 96]
  output null = %cat
  output a:b = %d-1
}
)");
}

// Also of inputs and weights, which then stand among the nodes.
TEST(ManifestWriter, KeepsDevices) {
  expect_round_trip(R"(graph {
  %a = Input() {type = "f32[2]"} : f32[2]
  %x = Input() {type = "f32[2]"} @cpu : f32[2]
  %b = Input() {type = "f32[2]"} : f32[2]
  %w = graph.weight() {type = "f32[2]", weight = "blk.0/w"} @cuda:0 : f32[2]
  %y = math.add(%x, %w) @cuda:0 : f32[2]
  %z = math.exp(%y) @rack-1/cpu.2 : f32[2]
  %v = math.exp(%a) : f32[2]
  output z = %z
}
)");
}

// A node's device holds for what the manifest adds to it.
TEST(Manifest, DevicesOfNodes) {
  EXPECT_EQ(
      graph_of("quern: 1\nprecision: float32\nvariables: {d: 1}\ninputs: {x: 'f16[2]', y: [1]}\n"
               "nodes:\n  - {id: a, op: math.add, in: [x, y], device: 'cuda:${d}'}\n"
               "  - {id: b, op: math.exp, in: a}\noutputs: {b: b}\n"),
      R"(graph {
  %x = Input() {type = "f16[2]"} : f16[2]
  %y = Input() {type = "f32[1]"} : f32[1]
  %a.cast.x = math.cast(%x) {to = "f32"} @cuda:1 : f32[2]
  %a.broadcast.y = shape.broadcast(%y) {shape = [2]} @cuda:1 : f32[2]
  %a = math.add(%a.cast.x, %a.broadcast.y) @cuda:1 : f32[2]
  %b = math.exp(%a) : f32[2]
  output b = %b
}
)");
}

// Writes before the reads that need them.
TEST(ManifestWriter, KeepsStateEffectsInOrder) {
  expect_round_trip(R"(graph {
  state @kv : kv {heads = 1, key_dim = 32, key_type = "f32", layers = 1, value_dim = 32, value_type = "f32"}
  %k = Input() {type = "f32[T, 1, 32]"} : f32[T, 1, 32]
  %p = Input() {type = "i32[T]"} : i32[T]
  %s = Input() {type = "i32[T]"} : i32[T]
  %a = kv.append(%k, %k, %p, %s) {layer = 0}
  %b = attention.cached(%k, %p, %s) {layer = 0} : f32[T, 1, 32]
  output y = %b
}
)");
}

}  // namespace
}  // namespace quern
