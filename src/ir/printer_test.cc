// Tests of the text form: stable, and the same graph when it is read again.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "ir/tensor_type.h"
#include "quern/graph.h"
#include "quern/graph_builder.h"
#include "support/ir_test_ops.h"

namespace quern {
namespace {

// The text that people read.
TEST(Printer, WritesEveryPart) {
  const OpRegistry registry = test::ir_test_registry();
  constexpr std::string_view kText = R"(graph {
  state @kv : kv {heads = 3, key_type = "f32", scale = 0.1}
  %x = Input() {type = "f32[T, 64]"} : f32[T, 64]
  %y = test.scale(%x) {factor = 0.30000000000000004} : f32[T, 64]
  %s = test.split(%y) : f32[T, 64], f32[T, 64]
  %p = test.pick(%s:low, _, %x) : f32[T, 64]
  %a = test.all(%p) {flag = true, integers = [1, -2], numbers = f[0.5], text = "a\nb"} : f32[T, 64]
  %w = test.store(%s:high)
  output out = %a
  output again = %s:low
}
)";
  const auto graph = parse_graph(kText, registry);
  ASSERT_TRUE(graph) << graph.error().message;
  // The text uses every kind of line and attribute, an absent input, ports by name and a node
  // without outputs; it must come back byte for byte, since passes are tested by such texts.
  EXPECT_EQ(print_graph(*graph), kText);
}

// Only what is special.
TEST(Printer, LeavesDefaultsOut) {
  const OpRegistry registry = test::ir_test_registry();
  const auto graph = parse_graph(
      "graph {\n  %x = Input() {type = \"f32[2]\"}\n"
      "  %y = test.scale(%x) {factor = 1.0, mode = \"a\"}\n}\n",
      registry);
  ASSERT_TRUE(graph);
  EXPECT_EQ(print_graph(*graph),
            "graph {\n  %x = Input() {type = \"f32[2]\"} : f32[2]\n"
            "  %y = test.scale(%x) : f32[2]\n}\n");
}

// The frame alone.
TEST(Printer, AnEmptyGraphIsTwoLines) {
  const OpRegistry registry = test::ir_test_registry();
  EXPECT_EQ(print_graph(GraphBuilder(registry).finish().value()), "graph {\n}\n");
}

// A graph of random nodes over random earlier values, with random attributes.
Graph random_graph(const OpRegistry& registry, uint32_t seed) {
  std::mt19937 engine(seed);
  GraphBuilder builder(registry);
  if (engine() % 2 == 0) {
    builder.state({"kv",
                   "kv",
                   {{"layers", static_cast<int64_t>(engine() % 9)}, {"keeps", engine() % 2 == 0}}});
  }
  std::vector<ValueId> values;
  for (uint32_t i = engine() % 3 + 1; i > 0; --i) {
    values.push_back(builder.input("in." + std::to_string(i) + "/x-y",
                                   parse_tensor_type("f16[T, 2*S, 8]").value()));
  }
  const auto any = [&] { return values[engine() % values.size()]; };
  // About -0.93 to 1.07 with up to 32 significant bits: the printer needs 17 digits for some.
  const auto number = [&] { return std::ldexp(static_cast<double>(engine()) - 2e9, -31); };
  for (uint32_t i = engine() % 12; i > 0; --i) {
    switch (engine() % 6) {
      case 0:
        values.push_back(builder.add("test.scale", {any()}, {{"factor", number()}}));
        break;
      case 1:
        values.push_back(builder.add("test.sum", std::vector<ValueId>(engine() % 4 + 1, any())));
        break;
      case 2:
        values.push_back(
            builder.add("test.pick", {any(), engine() % 2 == 0 ? kNoValue : any(), any()}));
        break;
      case 3:
        builder.add("test.split", {any()});
        for (const ValueId output : builder.last_outputs()) values.push_back(output);
        break;
      case 4:
        values.push_back(builder.add(
            "test.all", {any()},
            {{"flag", engine() % 2 == 0},
             {"integer", static_cast<int64_t>(engine()) - 100},
             {"number", number()},
             {"text", std::string(engine() % 5, static_cast<char>(engine() % 128))},
             {"integers", std::vector<int64_t>(engine() % 3, -static_cast<int64_t>(engine()))},
             {"numbers", std::vector<double>(engine() % 3, number())}}));
        break;
      default:
        values.push_back(builder.add("test.random", {any()}));
    }
  }
  builder.output("y", values.back());
  builder.output("z.2", values.front());
  return builder.finish().value();
}

// With equal hashes.
TEST(Printer, RandomGraphsComeBack) {
  const OpRegistry registry = test::ir_test_registry();
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const Graph graph = random_graph(registry, seed);
    const std::string text = print_graph(graph);
    const auto back = parse_graph(text, registry);
    ASSERT_TRUE(back) << back.error().message << "\n" << text;
    ASSERT_EQ(print_graph(*back), text);
    ASSERT_EQ(semantic_hash(*back), semantic_hash(graph)) << text;
    ASSERT_EQ(back->values().size(), graph.values().size());
    for (size_t i = 0; i < graph.values().size(); ++i) {
      EXPECT_EQ(back->values()[i].name, graph.values()[i].name);
      EXPECT_EQ(back->values()[i].type, graph.values()[i].type);
    }
  }
}

}  // namespace
}  // namespace quern
