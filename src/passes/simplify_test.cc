// Rules of the pass `simplify`: each rewrite, and beside it the neighbours that must stay because a
// bit would change (NaN, zeros of both signs, overflow, roundings between).
#include <gtest/gtest.h>

#include "support/pass_text.h"

namespace quern::test {
namespace {

// -0 adds nothing, +0 does: -0 + +0 is +0.
TEST(SimplifyAddition, NeutralConstants) {
  expect_rewrites("simplify", {{"x f32[2]",
                                R"(%c = graph.constant() {type = "f32[2]", values = f[-0.0, -0.0]}
%y = math.add(%x, %c)
output y = %y)",
                                R"(%c = graph.constant() {type = "f32[2]", values = f[-0.0, -0.0]}
output y = %x)"},
                               // -0 + 0 is +0: not the value.
                               {"x f32[2]",
                                R"(%c = graph.constant() {type = "f32[2]", values = f[0.0, 0.0]}
%y = math.add(%x, %c)
output y = %y)",
                                "same"},
                               // One of two elements is neutral.
                               {"x f32[2]",
                                R"(%c = graph.constant() {type = "f32[2]", values = f[-0.0, 0.0]}
%y = math.add(%x, %c)
output y = %y)",
                                "same"},
                               // A bias of the last axis.
                               {"x f32[T, 2]",
                                R"(%c = graph.constant() {type = "f32[2]", values = f[-0.0, -0.0]}
%y = math.add(%x, %c)
output y = %y)",
                                R"(%c = graph.constant() {type = "f32[2]", values = f[-0.0, -0.0]}
output y = %x)"},
                               // Integers have one zero.
                               {"x i32[2]",
                                R"(%c = graph.constant() {type = "i32[2]", values = f[0.0, 0.0]}
%y = math.add(%c, %x)
output y = %y)",
                                R"(%c = graph.constant() {type = "i32[2]", values = f[0.0, 0.0]}
output y = %x)"},
                               // x - 0 keeps -0, x - -0 does not; 0 - x is no copy.
                               {"x f64[1]",
                                R"(%c = graph.constant() {type = "f64[1]", values = f[0.0]}
%y = elementwise.sub(%x, %c)
output y = %y)",
                                R"(%c = graph.constant() {type = "f64[1]", values = f[0.0]}
output y = %x)"},
                               {"x f64[1]",
                                R"(%c = graph.constant() {type = "f64[1]", values = f[-0.0]}
%y = elementwise.sub(%x, %c)
output y = %y)",
                                "same"},
                               {"x f64[1]",
                                R"(%c = graph.constant() {type = "f64[1]", values = f[0.0]}
%y = elementwise.sub(%c, %x)
output y = %y)",
                                "same"}});
}

// x + (-y) rounds as x - y.
TEST(SimplifyAddition, NegationsJoin) {
  expect_rewrites("simplify", {{"x f32[3]; y f32[3]",
                                R"(%n = elementwise.neg(%y)
%z = math.add(%x, %n)
output z = %z)",
                                R"(%n = elementwise.neg(%y)
%z = elementwise.sub(%x, %y)
output z = %z)"},
                               {"x f32[3]; y f32[3]",
                                R"(%n = elementwise.neg(%x)
%z = math.add(%n, %y)
output z = %z)",
                                R"(%n = elementwise.neg(%x)
%z = elementwise.sub(%y, %x)
output z = %z)"},
                               {"x f32[3]; y f32[3]",
                                R"(%n = elementwise.neg(%y)
%z = elementwise.sub(%x, %n)
output z = %z)",
                                R"(%n = elementwise.neg(%y)
%z = math.add(%x, %y)
output z = %z)"},
                               // (-x) - y is -(x + y): it rounds alike, but saves nothing.
                               {"x f32[3]; y f32[3]",
                                R"(%n = elementwise.neg(%x)
%z = elementwise.sub(%n, %y)
output z = %z)",
                                "same"},
                               // elementwise.sub takes no bias.
                               {"x f32[T, 3]; b f32[3]",
                                R"(%n = elementwise.neg(%b)
%z = math.add(%x, %n)
output z = %z)",
                                "same"}});
}

// 1 is exact, 0 is not: 0 * NaN.
TEST(SimplifyProducts, OnesAndOthers) {
  expect_rewrites("simplify", {{"x f16[2]",
                                R"(%c = graph.constant() {type = "f16[2]", values = f[1.0, 1.0]}
%y = math.mul(%c, %x)
output y = %y)",
                                R"(%c = graph.constant() {type = "f16[2]", values = f[1.0, 1.0]}
output y = %x)"},
                               {"x u8[1]",
                                R"(%c = graph.constant() {type = "u8[1]", values = f[1.0]}
%y = math.mul(%x, %c)
output y = %y)",
                                R"(%c = graph.constant() {type = "u8[1]", values = f[1.0]}
output y = %x)"},
                               // NaN and infinities times 0 are no 0.
                               {"x f32[1]",
                                R"(%c = graph.constant() {type = "f32[1]", values = f[0.0]}
%y = math.mul(%x, %c)
output y = %y)",
                                "same"},
                               {"x f32[1]",
                                R"(%c = graph.constant() {type = "f32[1]", values = f[1.0]}
%y = elementwise.div(%x, %c)
output y = %y)",
                                R"(%c = graph.constant() {type = "f32[1]", values = f[1.0]}
output y = %x)"},
                               {"x f32[1]",
                                R"(%c = graph.constant() {type = "f32[1]", values = f[1.0]}
%y = elementwise.div(%c, %x)
output y = %y)",
                                "same"},
                               // 0 / 0 is NaN.
                               {"x f32[1]",
                                R"(%y = elementwise.div(%x, %x)
output y = %y)",
                                "same"},
                               // inf - inf is NaN.
                               {"x f32[1]",
                                R"(%y = elementwise.sub(%x, %x)
output y = %y)",
                                "same"}});
}

// Powers of two round nothing.
TEST(SimplifyScale, FactorsOfTwoJoin) {
  expect_rewrites("simplify", {{"x f32[3]",
                                R"(%a = math.scale(%x) {factor = 4.0}
%y = math.scale(%a) {factor = -8.0}
output y = %y)",
                                R"(%a = math.scale(%x) {factor = 4.0}
%y = math.scale(%x) {factor = -32.0}
output y = %y)"},
                               {"x f32[3]",
                                R"(%y = math.scale(%x) {factor = 1.0}
output y = %y)",
                                "output y = %x"},
                               {"x f32[3]",
                                R"(%y = math.scale(%x) {factor = -1.0}
output y = %y)",
                                R"(%y = elementwise.neg(%x)
output y = %y)"},
                               // Halving may lose a denormal that doubling does not bring back.
                               {"x f32[3]",
                                R"(%a = math.scale(%x) {factor = 0.5}
%y = math.scale(%a) {factor = 2.0}
output y = %y)",
                                "same"},
                               {"x f32[3]",
                                R"(%a = math.scale(%x) {factor = 3.0}
%y = math.scale(%a) {factor = 5.0}
output y = %y)",
                                "same"},
                               // Past 2^64 the product could overflow on its own.
                               {"x f32[3]",
                                R"(%a = math.scale(%x) {factor = 1.8446744073709552e+19}
%y = math.scale(%a) {factor = 2.0}
output y = %y)",
                                "same"},
                               // A zero scale keeps signs and NaN.
                               {"x f32[3]",
                                R"(%y = math.scale(%x) {factor = 0.0}
output y = %y)",
                                "same"}});
}

// Only where bits may change.
TEST(SimplifyScale, FastJoinsAllFiniteFactors) {
  const PassOptions fast{.numerics = Numerics::kFast};
  expect_rewrites("simplify",
                  {{"x f32[3]",
                    R"(%a = math.scale(%x) {factor = 0.5}
%y = math.scale(%a) {factor = 3.0}
output y = %y)",
                    R"(%a = math.scale(%x) {factor = 0.5}
%y = math.scale(%x) {factor = 1.5}
output y = %y)"},
                   {"x f32[3]",
                    R"(%a = math.scale(%x) {factor = 1e+300}
%y = math.scale(%a) {factor = 1e+300}
output y = %y)",
                    "same"},
                   {"x f32[3]",
                    R"(%c = graph.constant() {type = "f32[3]", values = f[0.0, 0.0, 0.0]}
%y = math.add(%x, %c)
output y = %y)",
                    R"(%c = graph.constant() {type = "f32[3]", values = f[0.0, 0.0, 0.0]}
output y = %x)"}},
                  fast);
}

// Functions whose values are fixed points.
TEST(SimplifyUnary, TwiceIsOnce) {
  for (const char* id :
       {"elementwise.abs", "activation.relu", "math.sign", "activation.hard_tanh"}) {
    const std::string op(id);
    const std::string before = "%a = " + op + "(%x)\n%y = " + op + "(%a)\noutput y = %y";
    const std::string after = "%a = " + op + "(%x)\noutput y = %a";
    expect_rewrites("simplify", {{"x bf16[T]", before, after}});
  }
  // Each of these moves its own results.
  for (const char* id : {"activation.tanh", "math.exp", "activation.gelu", "activation.elu",
                         "activation.hard_sigmoid", "elementwise.sqrt"}) {
    const std::string op(id);
    const std::string before = "%a = " + op + "(%x)\n%y = " + op + "(%a)\noutput y = %y";
    expect_rewrites("simplify", {{"x f32[T]", before, "same"}});
  }
}

// For integers that wrap, too.
TEST(SimplifyUnary, SignsVanishUnderAbs) {
  expect_rewrites("simplify", {{"x i8[4]",
                                R"(%a = elementwise.neg(%x)
%y = elementwise.abs(%a)
output y = %y)",
                                R"(%a = elementwise.neg(%x)
%y = elementwise.abs(%x)
output y = %y)"},
                               {"x f32[4]",
                                R"(%a = elementwise.abs(%x)
%y = elementwise.neg(%a)
output y = %y)",
                                "same"},
                               {"x f32[4]",
                                R"(%a = elementwise.neg(%x)
%b = elementwise.neg(%a)
%y = elementwise.neg(%b)
output y = %y)",
                                R"(%a = elementwise.neg(%x)
%y = elementwise.neg(%x)
output y = %y)"}});
}

// NaN must pass.
TEST(SimplifyExtremes, InfinitiesAndEqualOperands) {
  expect_rewrites("simplify", {{"x f32[1]",
                                R"(%c = graph.constant() {type = "f32[1]", values = f[-inf]}
%y = elementwise.max(%x, %c)
output y = %y)",
                                R"(%c = graph.constant() {type = "f32[1]", values = f[-inf]}
output y = %x)"},
                               {"x f32[1]",
                                R"(%c = graph.constant() {type = "f32[1]", values = f[inf]}
%y = elementwise.min(%c, %x)
output y = %y)",
                                R"(%c = graph.constant() {type = "f32[1]", values = f[inf]}
output y = %x)"},
                               {"x f32[1]",
                                R"(%c = graph.constant() {type = "f32[1]", values = f[inf]}
%y = elementwise.max(%x, %c)
output y = %y)",
                                "same"},
                               // The infinity of an e4m3 constant is a number.
                               {"x f8e4m3[1]",
                                R"(%c = graph.constant() {type = "f8e4m3[1]", values = f[-inf]}
%y = elementwise.max(%x, %c)
output y = %y)",
                                "same"},
                               {"x i16[3]",
                                R"(%y = elementwise.min(%x, %x)
output y = %y)",
                                "output y = %x"}});
}

// And not another tensor's sigmoid.
TEST(SimplifySwish, TheGateIsTheInput) {
  expect_rewrites("simplify", {{"x f32[T]",
                                R"(%s = activation.sigmoid(%x)
%y = math.mul(%s, %x)
output y = %y)",
                                R"(%s = activation.sigmoid(%x)
%y = activation.swish(%x)
output y = %y)"},
                               {"x f32[T]; z f32[T]",
                                R"(%s = activation.sigmoid(%z)
%y = math.mul(%x, %s)
output y = %y)",
                                "same"},
                               // The sigmoid rounds to bf16 before the product.
                               {"x bf16[T]",
                                R"(%s = activation.sigmoid(%x)
%y = math.mul(%x, %s)
output y = %y)",
                                "same"}});
}

// The only random node that can vanish.
TEST(SimplifyDropout, OutsideOfTraining) {
  expect_rewrites("simplify", {{"x f32[T]",
                                R"(%y = math.dropout(%x) {p = 0.5, training = false}
output y = %y)",
                                "output y = %x"},
                               {"x f32[T]",
                                R"(%y = math.dropout(%x) {p = 0.0}
output y = %y)",
                                "output y = %x"},
                               {"x f32[T]",
                                R"(%y = math.dropout(%x) {p = 0.5}
output y = %y)",
                                "same"}});
}

// Casts
// --------------------------------------------------------------------------------------------

struct CastCase {
  std::string_view from, through, to;
  std::string_view kind;  // "copy", "one" (a single cast), "same"
};

// Exact widenings only.
TEST(SimplifyCasts, PairsOfCasts) {
  const std::vector<CastCase> table = {
      {"f32", "f32", "f32", "copy"},   {"f16", "f32", "f16", "copy"},
      {"bf16", "f64", "bf16", "copy"}, {"f32", "f64", "f16", "one"},
      {"bf16", "f32", "i8", "one"},    {"f16", "f64", "f8e4m3", "one"},
      {"i8", "i32", "i8", "copy"},     {"u8", "i16", "u8", "copy"},
      {"i16", "f32", "i16", "copy"},   {"i32", "f64", "i32", "copy"},
      {"u32", "f64", "u32", "copy"},   {"u64", "u64", "u64", "copy"},
      {"f32", "f16", "f32", "same"},   {"f32", "bf16", "f16", "same"},
      {"f16", "bf16", "f16", "same"},  {"bf16", "f16", "bf16", "same"},
      {"i32", "f32", "i32", "same"},   {"u8", "i8", "u8", "same"},
      {"i64", "f64", "i64", "same"},   {"i8", "u8", "i8", "same"},
      {"i32", "i64", "f32", "same"},   {"f64", "f32", "f64", "same"},
  };
  for (const CastCase& c : table) {
    const std::string inputs = "x " + std::string(c.from) + "[4]";
    const std::string first = "%a = math.cast(%x) {to = \"" + std::string(c.through) + "\"}\n";
    const std::string second = "{to = \"" + std::string(c.to) + "\"}\noutput y = %y";
    const std::string before = first + "%y = math.cast(%a) " + second;
    std::string after = before;
    // The first cast stays for the pass that drops dead code, unless it is a copy itself.
    const std::string kept = c.from == c.through ? "" : first;
    if (c.kind == "copy") after = kept + "output y = %x";
    if (c.kind == "one") after = kept + "%y = math.cast(%x) " + second;
    expect_rewrites("simplify", {{inputs, before, after}});
  }
}

// Moves
// --------------------------------------------------------------------------------------------

// The last one decides.
TEST(SimplifyShapes, ReshapesCollapse) {
  expect_rewrites("simplify", {{"x f32[2, 6]",
                                R"(%a = shape.reshape(%x) {shape = [12]}
%y = shape.reshape(%a) {shape = [3, 4]}
output y = %y)",
                                R"(%a = shape.reshape(%x) {shape = [12]}
%y = shape.reshape(%x) {shape = [3, 4]}
output y = %y)"},
                               {"x f32[T, 6]",
                                R"(%a = shape.reshape(%x) {shape = [-1, 2, 3]}
%y = shape.reshape(%a) {shape = [-1, 6]}
output y = %y)",
                                R"(%a = shape.reshape(%x) {shape = [-1, 2, 3]}
output y = %x)"},
                               {"x f32[2, 6]",
                                R"(%y = shape.reshape(%x) {shape = [2, 6]}
output y = %y)",
                                "output y = %x"}});
}

// Two are one, inverse ones none.
TEST(SimplifyShapes, PermutationsCompose) {
  expect_rewrites("simplify",
                  {{"x f32[2, 3, 4]",
                    R"(%a = shape.permute(%x) {order = [1, 2, 0]}
%y = shape.permute(%a) {order = [1, 2, 0]}
output y = %y)",
                    R"(%a = shape.permute(%x) {order = [1, 2, 0]}
%y = shape.permute(%x) {order = [2, 0, 1]}
output y = %y)"},
                   {"x f32[2, 3, 4]",
                    R"(%a = shape.permute(%x) {order = [1, 2, 0]}
%y = shape.permute(%a) {order = [2, 0, 1]}
output y = %y)",
                    R"(%a = shape.permute(%x) {order = [1, 2, 0]}
output y = %x)"},
                   {"x f32[2, 3, 4]",
                    R"(%a = shape.transpose(%x) {dim0 = 0, dim1 = 2}
%y = shape.transpose(%a) {dim0 = 0, dim1 = 1}
output y = %y)",
                    R"(%a = shape.transpose(%x) {dim0 = 0, dim1 = 2}
%y = shape.permute(%x) {order = [1, 2, 0]}
output y = %y)"},
                   {"x f32[2, 3, 4]",
                    R"(%y = shape.transpose(%x) {dim0 = 1, dim1 = 1}
output y = %y)",
                    "output y = %x"},
                   {"x f32[2, 3, 4]",
                    R"(%y = shape.permute(%x) {order = [-3, 1, -1]}
output y = %y)",
                    "output y = %x"},
                   // Swapping axes of extent 1 is a move of no element, but not of none.
                   {"x f32[1, 3]",
                    R"(%y = shape.transpose(%x) {dim0 = 0, dim1 = 1}
output y = %y)",
                    "same"}});
}

// Starts add, ends follow.
TEST(SimplifyShapes, SlicesOfSlices) {
  expect_rewrites("simplify", {{"x f32[10, 3]",
                                R"(%a = shape.slice(%x) {end = 8, start = 2}
%y = shape.slice(%a) {end = 5, start = 1}
output y = %y)",
                                R"(%a = shape.slice(%x) {end = 8, start = 2}
%y = shape.slice(%x) {end = 7, start = 3}
output y = %y)"},
                               {"x f32[10, 3]",
                                R"(%a = shape.slice(%x) {start = 4}
%y = shape.slice(%a) {start = 2}
output y = %y)",
                                R"(%a = shape.slice(%x) {start = 4}
%y = shape.slice(%x) {end = 10, start = 6}
output y = %y)"},
                               {"x f32[10, 3]",
                                R"(%a = shape.slice(%x) {end = 8, start = 2}
%y = shape.slice(%a) {dim = 1, end = 2}
output y = %y)",
                                "same"},
                               {"x f32[10, 3]",
                                R"(%y = shape.slice(%x) {end = 10}
output y = %y)",
                                "output y = %x"},
                               // The extent is known at run time only.
                               {"x f32[T, 3]",
                                R"(%a = shape.slice(%x) {end = 8, start = 2}
%y = shape.slice(%a) {end = 5, start = 1}
output y = %y)",
                                "same"}});
}

// Nodes with nothing to choose.
TEST(SimplifyShapes, JoinsAndChoicesOfOne) {
  expect_rewrites("simplify", {{"x f32[2, 3]",
                                R"(%y = shape.concat(%x)
output y = %y)",
                                "output y = %x"},
                               {"x f32[2, 3]",
                                R"(%y = shape.concat(%x, %x)
output y = %y)",
                                "same"},
                               {"x f32[2, 3]",
                                R"(%y = shape.broadcast(%x) {shape = [2, 3]}
output y = %y)",
                                "output y = %x"},
                               {"x f32[1, 3]",
                                R"(%y = shape.broadcast(%x) {shape = [2, 3]}
output y = %y)",
                                "same"},
                               {"x f32[2, 3]; c i32[2]",
                                R"(%y = shape.select_rows(%x, %x, %c)
output y = %y)",
                                "output y = %x"},
                               {"x f32[2, T, 12]",
                                R"(%a = shape.view_as_heads(%x) {num_heads = 4}
%y = shape.merge_heads(%a)
output y = %y)",
                                R"(%a = shape.view_as_heads(%x) {num_heads = 4}
output y = %x)"}});
}

// Values that the caller reads by name keep their node, with the operation that was asked for.
TEST(Simplify, ReadableValuesStay) {
  expect_rewrites("simplify",
                  {{"x f32[3]",
                    R"(%a = elementwise.neg(%x)
%b = elementwise.neg(%a)
%y = math.exp(%b)
output y = %y)",
                    "same"}},
                  {.readable = {"b"}});
}

// A rule may enable another: the inner pair vanishes, then the outer pair is one.
TEST(Simplify, RulesFollowOneAnother) {
  expect_rewrites("simplify", {{"x f32[2, 3]",
                                R"(%a = math.scale(%x) {factor = 2.0}
%b = elementwise.neg(%a)
%c = elementwise.neg(%b)
%y = math.scale(%c) {factor = 2.0}
output y = %y)",
                                R"(%a = math.scale(%x) {factor = 2.0}
%b = elementwise.neg(%a)
%y = math.scale(%x) {factor = 4.0}
output y = %y)"}});
}

}  // namespace
}  // namespace quern::test
