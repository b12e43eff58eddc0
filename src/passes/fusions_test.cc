// The passes that fuse, with the limits of a made-up backend: groups end where a value has other
// readers, another type, another device, or where the backend takes no more.
#include <gtest/gtest.h>

#include "support/pass_text.h"

namespace quern::test {
namespace {

PassOptions fusing(std::vector<std::string_view> nodes, int max_instructions = 8,
                   int max_operands = 4) {
  return {.fusions = {
              .fused_ops = std::move(nodes),
              .program_ops = {"math.exp", "math.sin", "math.add", "math.mul", "math.scale",
                              "elementwise.sub", "activation.relu", "activation.swiglu_tensors"},
              .max_instructions = max_instructions,
              .max_operands = max_operands}};
}

// Instructions and operands of the kernels.
TEST(FuseElementwise, ChainsAndTheirLimits) {
  const auto options = fusing({"fused.elementwise"});
  expect_rewrites(
      "fuse_elementwise",
      {{"x f32[T, 4]",
        R"ir(%a = math.exp(%x)
%b = math.sin(%a)
%c = math.scale(%b) {factor = 2.0}
output c = %c)ir",
        R"ir(%c = fused.elementwise(%x) {program = "math.exp(x0); math.sin(v0); math.scale(v1) {factor = 2.0}"}
output c = %c)ir"},
       // A bias is an operand.
       {"x f32[T, 4]; b f32[4]",
        R"ir(%a = math.add(%x, %b)
%c = math.exp(%a)
output c = %c)ir",
        R"ir(%c = fused.elementwise(%x, %b) {program = "math.add(x0, x1); math.exp(v0)"}
output c = %c)ir"},
       // One operation alone is no group; math.cos has no place in a program.
       {"x f32[T, 4]",
        R"ir(%a = math.exp(%x)
%b = math.cos(%a)
%c = math.sin(%b)
output c = %c)ir",
        "same"},
       // Integers compute alike, but the backend's programs are of floats.
       {"x i32[4]; y i32[4]",
        R"ir(%a = math.add(%x, %y)
%b = math.mul(%a, %y)
output b = %b)ir",
        "same"}},
      options);
}

// A value that somebody else reads must exist.
TEST(FuseElementwise, OtherReadersEndAGroup) {
  const auto options = fusing({"fused.elementwise"});
  expect_rewrites(
      "fuse_elementwise",
      {{"x f32[4]",
        R"ir(%a = math.exp(%x)
%b = math.sin(%a)
%c = math.cos(%a)
output b = %b
output c = %c)ir",
        "same"},
       {"x f32[4]",
        R"ir(%a = math.exp(%x)
%b = math.sin(%a)
output a = %a
output b = %b)ir",
        "same"},
       // Two readers inside one group are one group.
       {"x f32[4]",
        R"ir(%a = math.exp(%x)
%b = math.sin(%a)
%c = math.mul(%a, %b)
output c = %c)ir",
        R"ir(%c = fused.elementwise(%x) {program = "math.exp(x0); math.sin(v0); math.mul(v0, v1)"}
output c = %c)ir"}},
      options);
  auto readable = options;
  readable.readable = {"a"};
  expect_rewrites("fuse_elementwise",
                  {{"x f32[4]",
                    R"ir(%a = math.exp(%x)
%b = math.sin(%a)
output b = %b)ir",
                    "same"}},
                  readable);
}

// Longer chains become several programs.
TEST(FuseElementwise, ProgramsHaveALength) {
  constexpr std::string_view kFour = R"ir(%a = math.exp(%x)
%b = math.sin(%a)
%c = math.exp(%b)
%d = math.sin(%c)
output d = %d)ir";
  // The last three go together; what is left is one operation.
  expect_rewrites("fuse_elementwise",
                  {{"x f32[4]", kFour,
                    R"ir(%a = math.exp(%x)
%d = fused.elementwise(%a) {program = "math.sin(x0); math.exp(v0); math.sin(v1)"}
output d = %d)ir"}},
                  fusing({"fused.elementwise"}, 3));
  expect_rewrites("fuse_elementwise", {{"x f32[4]", kFour, "same"}}, fusing({}));
  expect_rewrites("fuse_elementwise",
                  {{"x f32[4]; y f32[4]; z f32[4]",
                    R"ir(%a = math.add(%x, %y)
%b = math.add(%a, %z)
output b = %b)ir",
                    "same"}},
                  fusing({"fused.elementwise"}, 8, 2));
}

// One node runs in one place.
TEST(FuseElementwise, DevicesStayApart) {
  const auto graph = short_graph("x f32[4]", R"ir(%a = math.exp(%x) @reference
%b = math.sin(%a)
output b = %b)ir");
  ASSERT_TRUE(graph);
  EXPECT_EQ(after_pass("fuse_elementwise", *graph, fusing({"fused.elementwise"})),
            short_text(*graph));
  const auto other = short_graph("x f32[4]", R"ir(%a = math.exp(%x) @reference
%b = math.sin(%a) @reference
output b = %b)ir");
  EXPECT_EQ(after_pass("fuse_elementwise", *other, fusing({"fused.elementwise"})),
            "%b = fused.elementwise(%x) {program = \"math.exp(x0); math.sin(v0)\"} @reference\n"
            "output b = %b\n");
}

// Bias, activation, residual.
TEST(FuseProducts, WhatFollowsAProduct) {
  expect_rewrites(
      "fuse_products",
      {{"x f32[T, 8]; w f32[6, 8]; r f32[T, 6]",
        R"ir(%y = projection.linear(%x, %w) {weight_scale = 0.5}
%a = activation.relu(%y)
%z = math.add(%a, %r)
output z = %z)ir",
        R"ir(%z = fused.linear(%x, %w, _, _, %r) {program = "activation.relu(x0); math.add(v0, x1)", weight_scale = 0.5}
output z = %z)ir"},
       // The product itself is a result.
       {"x f32[T, 8]; w f32[6, 8]",
        R"ir(%y = projection.linear(%x, %w)
%z = activation.relu(%y)
output y = %y
output z = %z)ir",
        "same"},
       // Nothing follows.
       {"x f32[T, 8]; w f32[6, 8]",
        R"ir(%y = projection.linear(%x, %w)
output y = %y)ir",
        "same"},
       // A product of f16 gives f32; the cast between is no part of a program.
       {"x f16[T, 8]; w f16[6, 8]",
        R"ir(%y = projection.linear(%x, %w)
%h = math.cast(%y) {to = "f16"}
%z = activation.relu(%h)
output z = %z)ir",
        "same"}},
      fusing({"fused.linear", "fused.matmul"}));
}

// One pass over x must make both.
TEST(FuseProducts, GatesNeedOneInputAndTwoWeightsOfOneType) {
  constexpr std::string_view kGate = R"ir(%g = projection.linear(%x, %w)
%u = projection.linear(%x, %v)
%z = activation.swiglu_tensors(%g, %u)
output z = %z)ir";
  expect_rewrites(
      "fuse_products",
      {{"x f32[T, 8]; w f32[6, 8]; v f32[6, 8]", kGate,
        R"ir(%z = fused.gated_linear(%x, %w, %v) {program = "activation.swiglu_tensors(x0, x1)"}
output z = %z)ir"},
       // Two inputs: one of the products joins.
       {"x f32[T, 8]; y f32[T, 8]; w f32[6, 8]; v f32[6, 8]",
        R"ir(%g = projection.linear(%x, %w)
%u = projection.linear(%y, %v)
%z = activation.swiglu_tensors(%g, %u)
output z = %z)ir",
        R"ir(%g = projection.linear(%x, %w)
%z = fused.linear(%y, %v, _, _, %g) {program = "activation.swiglu_tensors(x1, x0)"}
output z = %z)ir"}},
      fusing({"fused.linear", "fused.gated_linear"}));
  // A backend without gates fuses one product.
  expect_rewrites("fuse_products",
                  {{"x f32[T, 8]; w f32[6, 8]; v f32[6, 8]", kGate,
                    R"ir(%g = projection.linear(%x, %w)
%z = fused.linear(%x, %v, _, _, %g) {program = "activation.swiglu_tensors(x1, x0)"}
output z = %z)ir"}},
                  fusing({"fused.linear"}));
  expect_rewrites("fuse_products", {{"x f32[T, 8]; w f32[6, 8]; v f32[6, 8]", kGate, "same"}},
                  fusing({}));
}

// What kernels compute row by row.
TEST(FuseQuantize, NormsAndGroupsBeforeIt) {
  expect_rewrites(
      "fuse_quantize",
      {{"x f32[T, 32]; w f32[32]",
        R"ir(%n = math.rmsnorm(%x, %w)
%q = quant.dynamic(%n) {bits = 16}
output q = %q:q
output d = %q:d)ir",
        R"ir(%q = fused.quantize(%x, %w) {bits = 16, program = "math.rmsnorm(x0, x1)"}
output q = %q:q
output d = %q:d)ir"},
       {"x f32[T, 32]; b f32[32]",
        R"ir(%n = math.layernorm(%x, _, %b) {eps = 0.25}
%q = quant.dynamic(%n)
output q = %q:q)ir",
        R"ir(%q = fused.quantize(%x, %b) {program = "math.layernorm(x0, _, x1) {eps = 0.25}"}
output q = %q:q)ir"},
       {"x f32[T, 32]",
        R"ir(%a = math.exp(%x)
%b = math.sin(%a)
%q = quant.dynamic(%b) {block = 256}
output q = %q:q)ir",
        R"ir(%q = fused.quantize(%x) {block = 256, program = "math.exp(x0); math.sin(v0)"}
output q = %q:q)ir"},
       // Softmax has no place in a program; the norm has another reader.
       {"x f32[T, 32]",
        R"ir(%a = math.softmax(%x)
%q = quant.dynamic(%a)
output q = %q:q)ir",
        "same"},
       {"x f32[T, 32]",
        R"ir(%n = math.rmsnorm(%x)
%q = quant.dynamic(%n)
output n = %n
output q = %q:q)ir",
        "same"}},
      fusing({"fused.quantize"}));
}

// With a scale, with a mask, and where it must not match.
TEST(FuseAttention, PlainAndScaledScores) {
  const auto options = fusing({"fused.attention"});
  expect_rewrites(
      "fuse_attention",
      {{"q f32[T, 4]; k f32[4, 7]; v f32[7, 3]",
        R"ir(%s = math.matmul(%q, %k)
%p = math.softmax(%s)
%z = math.matmul(%p, %v)
output z = %z)ir",
        R"ir(%z = fused.attention(%q, %k, %v) {program = ""}
output z = %z)ir"},
       {"q f32[T, 4]; k f32[4, 7]; v f32[7, 3]; b f32[7]",
        R"ir(%s = math.matmul(%q, %k)
%a = math.scale(%s) {factor = 0.5}
%m = math.add(%a, %b)
%p = math.softmax(%m)
%z = math.matmul(%p, %v)
output z = %z)ir",
        R"ir(%z = fused.attention(%q, %k, %v, %b) {program = "math.scale(x0) {factor = 0.5}; math.add(v0, x1)"}
output z = %z)ir"},
       // Scores or shares that the caller sees.
       {"q f32[T, 4]; k f32[4, 7]; v f32[7, 3]",
        R"ir(%s = math.matmul(%q, %k)
%p = math.softmax(%s)
%z = math.matmul(%p, %v)
output z = %z
output p = %p)ir",
        "same"},
       // The softmax of an input is no attention.
       {"s f32[T, 7]; v f32[7, 3]",
        R"ir(%p = math.softmax(%s)
%z = math.matmul(%p, %v)
output z = %z)ir",
        "same"},
       // The shares on the right.
       {"q f32[7, 4]; k f32[4, 7]; v f32[3, 7]",
        R"ir(%s = math.matmul(%q, %k)
%p = math.softmax(%s)
%z = math.matmul(%v, %p)
output z = %z)ir",
        "same"}},
      options);
}

}  // namespace
}  // namespace quern::test
