// Where a graph comes from: model files by their magic, manifests by name, text else.
#include "cli/graph_source.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/synth.h"
#include "quern/op.h"
#include "support/temporary_folder.h"

namespace quern::cli {
namespace {

constexpr const char* kText = R"(graph {
  %x = Input() {type = "f32[T, 4]"} : f32[T, 4]
  %y = math.exp(%x) : f32[T, 4]
  output y = %y
}
)";

// Files in a folder of their own.
class GraphSourceTest : public testing::Test {
 protected:
  Result<GraphSource> open(const std::string& name) {
    EngineFlags flags;
    flags.model = folder_.file(name);
    return open_graph_source(flags);
  }
  std::string error(const std::string& name) {
    const auto source = open(name);
    if (source) return "no error";
    const std::string loading = "While loading '" + folder_.file(name) + "': ";
    EXPECT_TRUE(source.error().message.starts_with(loading)) << source.error().message;
    return source.error().message.substr(loading.size());
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name), std::ios::binary) << text;
  }
  const test::TemporaryFolder folder_{"graph_source"};
};

// Two ways to write it down.
TEST_F(GraphSourceTest, TextAndManifestGiveTheSameGraph) {
  write("g.txt", kText);
  write("g.yaml",
        "quern: 1\nprecision: mixed\ninputs: {x: 'f32[T, 4]'}\nnodes: [{id: y, op: math.exp, in: "
        "x}]\noutputs: [y]\n");
  const auto text = open("g.txt"), manifest = open("g.yaml");
  ASSERT_TRUE(text) << text.error().message;
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(semantic_hash(text->graph()), semantic_hash(manifest->graph()));
  EXPECT_EQ(text->description(), folder_.file("g.txt") + ": a graph of 2 nodes");
  EXPECT_FALSE(text->files);
}

// Names can be anything.
TEST_F(GraphSourceTest, ModelFilesAreKnownByTheirMagic) {
  ASSERT_TRUE(write_synthetic_model(folder_.file("model.yaml"), {}));  // whatever the name says
  const auto source = open("model.yaml");
  ASSERT_TRUE(source) << source.error().message;
  ASSERT_TRUE(source->files);
  EXPECT_TRUE(source->description().starts_with(folder_.file("model.yaml") + ": llama, "));
  EXPECT_TRUE(source->description().ends_with(" parameters, f32 activations"));
}

// Each kind of file has errors of its own.
TEST_F(GraphSourceTest, ErrorsNameTheFile) {
  EXPECT_EQ(error("none.txt"),
            "File '" + folder_.file("none.txt") + "' cannot be opened: No such file or directory.");
  EXPECT_NE(error("none.yaml"), "no error");
  write("empty.txt", "");
  EXPECT_NE(error("empty.txt"), "no error");
  write("short.gguf", "GGUF");
  EXPECT_NE(error("short.gguf"), "no error");
  write("bad.yml", "quern: 7\n");
  EXPECT_EQ(error("bad.yml"), folder_.file("bad.yml") +
                                  ":1: The manifest has version 7; this build reads version 1.");
}

// With symbols A, T and Z.
Graph symbolic_graph() {
  return *parse_graph(
      "graph {\n  %x = Input() {type = \"f32[T, 2A, Z]\"} : f32[T, 2A, Z]\n"
      "  output y = %x\n}\n",
      builtin_ops());
}

// The fallback holds for all others.
TEST(BindSymbols, LettersHaveNumbers) {
  const Graph graph = symbolic_graph();
  const auto bound = bind_symbols(graph, {"T=4", "A=0", "T=5", "Z=9223372036854775807"}, 1);
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(bound->get('T'), 5);  // the last one counts
  EXPECT_EQ(bound->get('A'), 0);
  EXPECT_EQ(bound->get('Z'), INT64_MAX);
  EXPECT_EQ(bound->get('R'), 1);
  EXPECT_EQ(bind_symbols(graph, {}, 7)->get('B'), 7);
}

// Whole arguments, not their begins.
TEST(BindSymbols, OtherFormsAreRefused) {
  for (const char* bad : {"", "T", "T=", "=4", "t=4", "TT=4", "T=-1", "T=4x", "T= 4", "T=+4",
                          "T=9223372036854775808", "T:4", "4=T", "T==4"}) {
    const auto bound = bind_symbols(symbolic_graph(), {bad}, 1);
    ASSERT_FALSE(bound) << bad;
    EXPECT_EQ(bound.error().message, "--bind " + std::string(bad) + " is no binding such as T=4.");
  }
}

// A binding without effect is a mistake.
TEST(BindSymbols, LettersMustBeSymbolsOfTheGraph) {
  const auto bound = bind_symbols(symbolic_graph(), {"T=1", "R=4"}, 1);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().message, "--bind R=4: the graph has no symbol R; it has A, T, Z.");
  const Graph fixed = *parse_graph(
      "graph {\n  %x = Input() {type = \"f32[2]\"} : f32[2]\n  output y = %x\n}\n", builtin_ops());
  EXPECT_EQ(bind_symbols(fixed, {"T=1"}, 1).error().message,
            "--bind T=1: the graph has no symbol T; it has none.");
}

}  // namespace
}  // namespace quern::cli
