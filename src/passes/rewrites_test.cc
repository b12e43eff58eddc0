// Canonical forms, equal nodes, dead nodes and pinned random numbers: what each pass changes and
// what it must leave.
#include <gtest/gtest.h>

#include "support/pass_text.h"

namespace quern::test {
namespace {

// Later passes know one name for each meaning.
TEST(Canonicalise, AliasesHaveOneName) {
  expect_rewrites("canonicalise", {{"x f32[T, 4]; y f32[T, 4]",
                                    R"(%a = Add(%x, %y)
%b = Mul(%a, %y)
%c = ReLU(%b)
%d = vsa.bind(%c, %x)
%e = activation.silu(%d)
%f = elementwise.relu(%e)
output f = %f)",
                                    R"(%a = math.add(%x, %y)
%b = math.mul(%a, %y)
%c = activation.relu(%b)
%d = math.mul(%c, %x)
%e = activation.swish(%d)
%f = activation.relu(%e)
output f = %f)"},
                                   // Attributes of the alias go along.
                                   {"x f32[4]",
                                    R"(%a = LeakyReLU(%x) {alpha = 0.5}
%b = GELU(%a) {approximate = "tanh"}
%c = activation.leaky_relu_slope(%b) {slope = 0.25}
output c = %c)",
                                    R"(%a = activation.leaky_relu(%x) {alpha = 0.5}
%b = activation.gelu_tanh(%a)
%c = activation.prelu(%b) {slope = 0.25}
output c = %c)"}});
}

// Equal nodes look equal.
TEST(Canonicalise, AxesCountFromTheFront) {
  expect_rewrites("canonicalise", {{"x f32[2, 3, 4]",
                                    R"(%a = shape.transpose(%x) {dim0 = -1, dim1 = 0}
%b = shape.permute(%a) {order = [-1, -2, 0]}
%c = shape.slice(%b) {dim = -1, end = 2}
%d = shape.concat(%c, %c) {dim = -2}
%e = shape.split(%d) {dim = -1, split_size = 1}
output e = %e)",
                                    R"(%a = shape.transpose(%x) {dim0 = 0, dim1 = 2}
%b = shape.permute(%a) {order = [2, 1, 0]}
%c = shape.slice(%b) {dim = 2, end = 2}
%d = shape.concat(%c, %c) {dim = 1}
%e = shape.split(%d) {dim = 2, split_size = 1}
output e = %e)"}});
}

// 0 stands for the whole axis.
TEST(Canonicalise, SlicesNameTheirEnd) {
  expect_rewrites("canonicalise", {{"x f32[6, T]",
                                    R"(%a = shape.slice(%x) {start = 2}
%b = shape.slice(%x)
output a = %a
output b = %b)",
                                    R"(%a = shape.slice(%x) {end = 6, start = 2}
%b = shape.slice(%x) {end = 6}
output a = %a
output b = %b)"},
                                   // A symbolic axis has no number to name; one of none keeps 0.
                                   {"x f32[6, T]",
                                    R"(%a = shape.slice(%x) {dim = 1}
output a = %a)",
                                    "same"},
                                   {"x f32[0, 2]",
                                    R"(%a = shape.slice(%x)
output a = %a)",
                                    "same"}});
}

// Where the width is known.
TEST(Canonicalise, RootScalesAreFactors) {
  expect_rewrites("canonicalise", {{"x f32[T, 64]",
                                    R"(%a = math.inv_sqrt_dim_scale(%x)
output a = %a)",
                                    R"(%a = math.scale(%x) {factor = 0.125}
output a = %a)"},
                                   {"x f32[64, T]",
                                    R"(%a = math.inv_sqrt_dim_scale(%x)
output a = %a)",
                                    "same"},
                                   {"x f32[4, 0]",
                                    R"(%a = math.inv_sqrt_dim_scale(%x)
output a = %a)",
                                    "same"}});
}

// They mean nothing to a run.
TEST(Canonicalise, FreezesVanish) {
  expect_rewrites("canonicalise", {{"x f32[2]",
                                    R"(%a = model.freeze(%x) {pattern = "layer.*"}
%b = math.exp(%a)
output b = %b)",
                                    R"(%b = math.exp(%x)
output b = %b)"}});
  expect_rewrites("canonicalise",
                  {{"x f32[2]",
                    R"(%a = model.freeze(%x)
%b = math.exp(%a)
output b = %b)",
                    "same"}},
                  {.readable = {"a"}});
}

// Equal nodes
// --------------------------------------------------------------------------------------

// Whatever their names are.
TEST(EqualNodes, AreMadeOnce) {
  expect_rewrites("eliminate_common_subexpressions", {{"x f32[T, 4]",
                                                       R"(%a = math.exp(%x)
%b = math.exp(%x)
%c = math.sin(%a)
%d = math.sin(%b)
%z = elementwise.sub(%c, %d)
output z = %z)",
                                                       R"(%a = math.exp(%x)
%c = math.sin(%a)
%z = elementwise.sub(%c, %c)
output z = %z)"},
                                                      // Outputs keep their names.
                                                      {"x f32[4]",
                                                       R"(%a = math.exp(%x)
%b = math.exp(%x)
output p = %a
output q = %b)",
                                                       R"(%a = math.exp(%x)
output p = %a
output q = %a)"},
                                                      {"x f32[4, 8]",
                                                       R"(%a = sort.top_k(%x) {k = 2}
%b = sort.top_k(%x) {k = 2}
output p = %a:values
output q = %b:indices)",
                                                       R"(%a = sort.top_k(%x) {k = 2}
output p = %a:values
output q = %a:indices)"}});
}

// Nodes that only look alike.
TEST(EqualNodes, AttributesAndOrderCount) {
  expect_rewrites("eliminate_common_subexpressions",
                  {{"x f32[4]; y f32[4]",
                    R"(%a = math.scale(%x) {factor = 2.0}
%b = math.scale(%x) {factor = 3.0}
%c = math.scale(%x) {factor = -2.0}
output a = %a
output b = %b
output c = %c)",
                    "same"},
                   // 0 and -0 are different factors.
                   {"x f32[4]",
                    R"(%a = math.scale(%x) {factor = 0.0}
%b = math.scale(%x) {factor = -0.0}
output a = %a
output b = %b)",
                    "same"},
                   {"x f32[4]; y f32[4]",
                    R"(%a = elementwise.sub(%x, %y)
%b = elementwise.sub(%y, %x)
output a = %a
output b = %b)",
                    "same"},
                   // x + bias is not bias + x: there is no such sum, but x + x[last] is commutative
                   // only among equal types.
                   {"x f32[2, 4]; y f32[4]",
                    R"(%a = math.add(%x, %y)
%b = math.mul(%a, %x)
%c = math.mul(%x, %a)
output b = %b
output c = %c)",
                    R"(%a = math.add(%x, %y)
%b = math.mul(%a, %x)
output b = %b
output c = %b)"},
                   // An absent input is not the input at another port.
                   {"x f32[2, 4]; w f32[4]",
                    R"(%a = math.layernorm(%x, %w)
%b = math.layernorm(%x, _, %w)
output a = %a
output b = %b)",
                    "same"},
                   // Constants of one type and equal numbers; NaN equals itself in text.
                   {"x f32[2]",
                    R"(%a = graph.constant() {type = "f32[2]", values = f[nan, 0.0]}
%b = graph.constant() {type = "f32[2]", values = f[nan, 0.0]}
%c = graph.constant() {type = "f32[2]", values = f[nan, -0.0]}
%d = math.add(%a, %b)
%e = math.add(%d, %c)
output e = %e)",
                    R"(%a = graph.constant() {type = "f32[2]", values = f[nan, 0.0]}
%c = graph.constant() {type = "f32[2]", values = f[nan, -0.0]}
%d = math.add(%a, %a)
%e = math.add(%d, %c)
output e = %e)"}});
}

// Two draws are two draws.
TEST(EqualNodes, EffectsAreNotMerged) {
  expect_rewrites(
      "eliminate_common_subexpressions",
      {{"x f32[4]",
        R"(%a = math.dropout(%x) {p = 0.5}
%b = math.dropout(%x) {p = 0.5}
output a = %a
output b = %b)",
        "same"},
       {"x f32[4]; y f32[4]",
        R"(%a = random.uniform() {shape = [3]}
%b = random.uniform() {shape = [3]}
output a = %a
output b = %b)",
        "same"},
       {"x f32[T, 4]; p i32[T]; s i32[T]",
        R"(state @kv : kv {heads = 1, key_dim = 4, key_type = "f32", layers = 1, value_dim = 4, value_type = "f32"}
%k = shape.reshape(%x) {shape = [-1, 1, 4]}
%a = attention.cached(%k, %p, %s) {layer = 0}
%w = kv.append(%k, %k, %p, %s) {layer = 0}
%b = attention.cached(%k, %p, %s) {layer = 0}
output a = %a
output b = %b)",
        "same"},
       // Inputs of one type are different tensors.
       {"x f32[4]; y f32[4]",
        R"(%a = math.exp(%x)
%b = math.exp(%y)
output a = %a
output b = %b)",
        "same"}});
}

// One value lies in one place under one name.
TEST(EqualNodes, DevicesAndReadersKeepThemApart) {
  const auto graph = short_graph("x f32[4]", R"(%a = math.exp(%x)
%b = math.exp(%x) @reference
output a = %a
output b = %b)");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(after_pass("eliminate_common_subexpressions", *graph), short_text(*graph));
  expect_rewrites("eliminate_common_subexpressions",
                  {{"x f32[4]",
                    R"(%a = math.exp(%x)
%b = math.exp(%x)
output z = %a)",
                    "same"}},
                  {.readable = {"b"}});
}

// Dead nodes
// ---------------------------------------------------------------------------------------

// Whole chains.
TEST(DeadNodes, GoWithTheirProducers) {
  expect_rewrites("eliminate_dead_code", {{"x f32[4]",
                                           R"(%a = math.exp(%x)
%b = math.sin(%a)
%c = math.cos(%b)
%z = math.sin(%x)
output z = %z)",
                                           R"(%z = math.sin(%x)
output z = %z)"},
                                          // One output of several keeps the node.
                                          {"x f32[4, 8]",
                                           R"(%a = sort.top_k(%x) {k = 2}
%b = math.exp(%a:values)
output i = %a:indices)",
                                           R"(%a = sort.top_k(%x) {k = 2}
output i = %a:indices)"},
                                          {"x f32[4]",
                                           R"(%r = random.uniform() {shape = [3]}
output x = %x)",
                                           "output x = %x"},
                                          // Weights that nobody reads need not be loaded.
                                          {"x f32[4]",
                                           R"(%w = graph.weight() {type = "f32[9]", weight = "w"}
output x = %x)",
                                           "output x = %x"}});
}

// Somebody needs what they do.
TEST(DeadNodes, EffectsAndReadersKeepNodes) {
  constexpr std::string_view kState =
      R"(state @kv : kv {heads = 1, key_dim = 4, key_type = "f32", layers = 1, value_dim = 4, value_type = "f32"})";
  expect_rewrites("eliminate_dead_code",
                  {{"x f32[T, 4]; p i32[T]; s i32[T]", std::string(kState) + R"(
%k = shape.reshape(%x) {shape = [-1, 1, 4]}
%d = math.exp(%x)
%w = kv.append(%k, %k, %p, %s) {layer = 0}
%a = attention.cached(%k, %p, %s) {layer = 0})",
                    std::string(kState) + R"(
%k = shape.reshape(%x) {shape = [-1, 1, 4]}
%w = kv.append(%k, %k, %p, %s) {layer = 0})"}});
  expect_rewrites("eliminate_dead_code",
                  {{"x f32[4]",
                    R"(%a = math.exp(%x)
%b = math.sin(%a)
output x = %x)",
                    R"(%a = math.exp(%x)
output x = %x)"}},
                  {.readable = {"a"}});
}

// Inputs are the graph's face: a caller binds them whether they are read or not.
TEST(DeadNodes, InputsStay) {
  const auto graph = short_graph("x f32[4]; y f32[4]", "output x = %x");
  ASSERT_TRUE(graph);
  const auto after = pass_named("eliminate_dead_code")->run(*graph, {});
  ASSERT_TRUE(after);
  EXPECT_EQ(after->inputs().size(), 2u);
}

// Other passes move nodes afterwards.
TEST(PinnedNumbers, AreTheIndicesOfTheGivenGraph) {
  expect_rewrites("pin_random", {{"x f32[4]",
                                  R"(%a = math.exp(%x)
%b = math.dropout(%a) {p = 0.5}
%c = random.normal() {shape = [3]}
%d = math.dropout(%b) {node_id = 7, p = 0.5}
output d = %d)",
                                  R"(%a = math.exp(%x)
%b = math.dropout(%a) {node_id = 2, p = 0.5}
%c = random.normal() {node_id = 3, shape = [3]}
%d = math.dropout(%b) {node_id = 7, p = 0.5}
output d = %d)"},
                                 {"x f32[4]",
                                  R"(%a = math.exp(%x)
output a = %a)",
                                  "same"}});
}

// The whole pipeline on one graph, and again: nothing more to find.
TEST(DefaultPipeline, FindsAFixedPoint) {
  const auto graph = short_graph("x f32[T, 4]", R"(%a = Add(%x, %x)
%b = math.add(%x, %x)
%c = Mul(%a, %b)
%n = elementwise.neg(%c)
%m = elementwise.neg(%n)
%d = math.dropout(%m) {training = false}
%dead = math.exp(%d)
%z = shape.slice(%d) {dim = -1}
output z = %z)");
  ASSERT_TRUE(graph) << graph.error().message;
  const auto once = run_passes(*graph, default_pipeline(), {});
  ASSERT_TRUE(once) << once.error().message;
  EXPECT_EQ(short_text(*once), "%a = math.add(%x, %x)\n%c = math.mul(%a, %a)\noutput z = %c\n");
  const auto twice = run_passes(*once, default_pipeline(), {});
  ASSERT_TRUE(twice);
  EXPECT_EQ(print_graph(*twice), print_graph(*once));
}

}  // namespace
}  // namespace quern::test
