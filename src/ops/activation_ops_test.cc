// Activations: special values, narrow floats, vectors against scalars, parameters.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/activation-inl.h"
#include "support/bit_equal.h"
#include "support/op_runner.h"
#include "tensor/convert.h"

namespace quern::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();

// Values for the attributes that an activation demands.
// 1 is inside the domain of all of them (alpha and beta must not be 0, lambda not below 0), and -1
// for `min` keeps min below max. Attributes with a default are left to it.
Attributes demanded(const OpDef& op) {
  Attributes attributes;
  for (const AttributeDef& attribute : op.attributes) {
    if (attribute.default_value) continue;
    attributes.set(attribute.name, attribute.name == "min" ? -1.0 : 1.0);
  }
  return attributes;
}

std::vector<float> run_f32(std::string_view id, std::vector<float> x, Attributes attributes = {}) {
  const auto n = static_cast<int64_t>(x.size());
  return values_of<float>(run_one(id, {f32(Shape{n}, x)}, std::move(attributes)));
}

// Found in the registry and not listed here, so that a new activation is tested from its first day.
// Softmax and its kin read whole rows, for which the statements below do not hold element by
// element.
std::vector<const OpDef*> one_input_activations() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : builtin_ops().list()) {
    const bool is_row_op = op->id.find("softmax") != std::string::npos;
    if (op->id.starts_with("activation.") && op->inputs.size() == 1 && !is_row_op) {
      ops.push_back(op);
    }
  }
  return ops;
}

// Formulas made of comparisons lose NaN where nobody thinks of it.
TEST(Activations, NaNGivesNaN) {
  // A guard: a renamed prefix would leave an empty list, and all loops below would pass.
  EXPECT_GT(one_input_activations().size(), 35u);
  for (const OpDef* op : one_input_activations()) {
    // Two elements, so that a kernel that handles only the first, or only a vector of several,
    // shows.
    for (const float y : run_f32(op->id, {kNaN, kNaN}, demanded(*op))) {
      EXPECT_TRUE(std::isnan(y)) << op->id;
    }
  }
}

// No elements, no row: loops must not run once.
TEST(Activations, EmptyTensorsStayEmpty) {
  for (const OpDef* op : one_input_activations()) {
    // The extent 0 comes first and a 2 behind it: a loop over the wrong axis would run twice.
    EXPECT_EQ(run_one(op->id, {f32(Shape{0, 2}, {})}, demanded(*op)).shape()[0], 0) << op->id;
  }
}

// Narrow floats compute in f32 and round once; f32 values that f16 and bf16 hold exactly.
TEST(Activations, NarrowFloatsRoundTheF32Result) {
  // 96 overflows exp in f32 on its way through formulas; -0.75 and -3.5 lie on both sides of the
  // bends at -1 and -3; all eight are exact in f16 and bf16, so that the inputs agree.
  const std::vector<float> x = {-3.5f, -0.75f, -0.0f, 0.0f, 0.25f, 2.0f, kInf, 96.0f};
  std::vector<uint16_t> f16, bf16;
  for (const float v : x) {
    f16.push_back(to_f16(v));
    bf16.push_back(to_bf16(v));
  }
  for (const OpDef* op : one_input_activations()) {
    const Attributes attributes = demanded(*op);
    const auto wide = run_f32(op->id, x, attributes);
    const auto half =
        values_of<uint16_t>(run_one(op->id, {tensor_of(DType::kF16, Shape{8}, f16)}, attributes));
    const auto brain =
        values_of<uint16_t>(run_one(op->id, {tensor_of(DType::kBF16, Shape{8}, bf16)}, attributes));
    ASSERT_EQ(half.size(), wide.size()) << op->id;
    for (size_t i = 0; i < wide.size(); ++i) {
      // Both sides go through f16_to_f32 so that two NaNs of different payload count as equal.
      EXPECT_TRUE(same_bits(f16_to_f32(half[i]), f16_to_f32(to_f16(wide[i]))))
          << op->id << " " << i;
      EXPECT_TRUE(same_bits(bf16_to_f32(brain[i]), bf16_to_f32(to_bf16(wide[i])))) << op->id;
    }
  }
}

// Zeros of both signs and infinities, where the formula alone would give NaN or the wrong sign.
TEST(Activations, SpecialValues) {
  const auto expect = [](const char* id, std::vector<float> y, Attributes attributes = {}) {
    // Infinities, zeros, and the smallest denormals: a formula that adds 1 loses a denormal, one
    // that multiplies keeps its sign only.
    EXPECT_TRUE(all_same_bits(
        run_f32(id, {-kInf, kInf, -0.0f, 0.0f, -kDenormal, kDenormal}, std::move(attributes)), y))
        << id;
  };
  expect("activation.relu", {0.0f, kInf, 0.0f, 0.0f, 0.0f, kDenormal});
  // exp of a denormal is 1, so sigmoid is exactly 1/2 on both sides of 0.
  expect("activation.sigmoid", {0.0f, 1, 0.5f, 0.5f, 0.5f, 0.5f});
  // tanh(x) of a tiny x is x: a formula over exp would give 0.
  expect("activation.tanh", {-1, 1, -0.0f, 0.0f, -kDenormal, kDenormal});
  // Half of the smallest denormal is a tie between 0 and itself; to even is 0, and the sign stays.
  // The same holds for gelu and hard_swish.
  expect("activation.swish", {kNaN, kInf, -0.0f, 0.0f, -0.0f, 0.0f});
  expect("activation.gelu", {kNaN, kInf, -0.0f, 0.0f, -0.0f, 0.0f});
  expect("activation.softsign", {kNaN, kNaN, -0.0f, 0.0f, -kDenormal, kDenormal});
  // x - tanh(x) of a denormal is x - x.
  expect("activation.tanh_shrink", {-kInf, kInf, 0.0f, 0.0f, 0.0f, 0.0f});
  expect("activation.hard_tanh", {-1, 1, -0.0f, 0.0f, -kDenormal, kDenormal});
  expect("activation.hard_tanh_range", {0.0f, 1, 0.0f, 0.0f, 0.0f, kDenormal},
         {{"min", 0.0}, {"max", 1.0}});
  expect("activation.hard_swish", {kNaN, kInf, -0.0f, 0.0f, -0.0f, 0.0f});
  // keep_nan returns +0 for what is cut off, whatever the sign of x.
  expect("activation.hard_shrink", {-kInf, kInf, 0.0f, 0.0f, 0.0f, 0.0f}, {{"lambda", 0.5}});
  // -denormal minus lambda is cut to a zero that takes the sign of x, unlike hard_shrink.
  expect("activation.soft_shrink", {-kInf, kInf, 0.0f, 0.0f, -0.0f, 0.0f}, {{"lambda", 0.5}});
  expect("activation.expm1", {-1, kInf, -0.0f, 0.0f, -kDenormal, kDenormal});
  // The default slope 0.01 of a denormal underflows to 0; the sign survives.
  expect("activation.leaky_relu", {-kInf, kInf, -0.0f, 0.0f, -0.0f, kDenormal});
}

// A parameter in f64 would give bits that no f32 kernel has.
TEST(Activations, ParametersRoundToF32First) {
  // 5 times 0.01 is 0.05 in f64 and rounds to f32(0.05); 5 times f32(0.01) is the number below.
  ASSERT_NE(5 * 0.01f, 0.05f);
  EXPECT_TRUE(all_same_bits(run_f32("activation.leaky_relu", {-5}), {-5 * 0.01f}));
  // f32(0.1) is above the f64 number 0.1: compared in f64, x > theta would hold and give 0.1.
  EXPECT_TRUE(all_same_bits(run_f32("activation.threshold", {0.1f}, {{"theta", 0.1}}), {0.0f}));
}

// Attributes that divide by zero or bound nothing are errors of the graph, not NaN in its results.
TEST(Activations, RefuseMeaninglessParameters) {
  const Tensor x = f32(Shape{1}, {1});
  // One bad attribute per line, the others valid, so that the refusal has one cause.
  EXPECT_FALSE(run_op("activation.celu_alpha", {x}, {{"alpha", 0.0}}));
  EXPECT_FALSE(run_op("activation.snake", {x}, {{"alpha", 0.0}}));
  EXPECT_FALSE(run_op("activation.snake_parametric", {x}, {{"alpha", 1.0}, {"beta", 0.0}}));
  EXPECT_FALSE(run_op("activation.soft_shrink", {x}, {{"lambda", -1.0}}));
  // NaN must not pass a check written as "lambda < 0".
  EXPECT_FALSE(run_op("activation.hard_shrink", {x}, {{"lambda", std::nan("")}}));
  // `slope` has no default.
  EXPECT_FALSE(run_op("activation.prelu", {x}));
  EXPECT_FALSE(run_op("activation.gelu", {x}, {{"approximate", std::string("sigmoid")}}));
  const auto bad = run_op("activation.hard_tanh_range", {x}, {{"min", 1.0}, {"max", 0.0}});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "activation.hard_tanh_range: Attribute 'min' is 1; it must not be above 'max', 0.");
  const auto ints = run_op("activation.relu", {i32(Shape{1}, {1})});
  ASSERT_FALSE(ints);
  EXPECT_EQ(ints.error().message,
            "activation.relu: Port 'x' has type i32[1]; it needs floating-point elements.");
}

// The two layouts of a gate are one formula.
TEST(Gated, PackedAndTensorsAgree) {
  // Infinity times a zero half, and NaN in the second half, must agree too: a kernel that skips
  // zeros would differ.
  const std::vector<float> gate = {1, -2, kInf, 0.5f}, up = {3, 4, -0.0f, kNaN};
  for (const char* name :
       {"glu", "geglu", "geglu_tanh", "swiglu", "reglu", "siglu", "linglu", "seglu"}) {
    const std::string id = std::string("activation.") + name;
    // [2, 4] holds gate and up of row 0, then those of row 1; a kernel that splits the whole tensor
    // in two halves, and not each row, would give other numbers.
    const Tensor packed = f32(Shape{2, 4}, {gate[0], gate[1], up[0], up[1],  //
                                            gate[2], gate[3], up[2], up[3]});
    const auto y = values_of<float>(run_one(id, {packed}));
    const auto z =
        values_of<float>(run_one(id + "_tensors", {f32(Shape{2, 2}, gate), f32(Shape{2, 2}, up)}));
    EXPECT_TRUE(all_same_bits(y, z)) << id;
  }
  // An odd extent has no halves, a scalar has no last axis, and the tensors must have one shape.
  EXPECT_FALSE(run_op("activation.glu", {f32(Shape{1, 3}, {1, 2, 3})}));
  EXPECT_FALSE(run_op("activation.glu", {f32(Shape{}, {1})}));
  EXPECT_FALSE(run_op("activation.glu_tensors", {f32(Shape{1}, {1}), f32(Shape{2}, {1, 2})}));
}

// One source for every width: vectors of 4 lanes give the bits of scalars.
template <class Formula>
void expect_same_on_vectors(const char* name, Formula formula) {
  using V = simd::VectorOf<float, 4>;
  // 8,000 points over +-54.8: past the ends where tanh and sigmoid saturate in f32, with a step
  // that is no power of 2 so that the mantissas differ.
  for (int i = -4000; i < 4000; i += 4) {
    V x;
    for (int l = 0; l < 4; ++l) x[l] = float(i + l) * 0.0137f;
    // Specials stand among each other in one vector: a branch taken for the whole vector because of
    // one lane would spoil the other three.
    if (i == 0) x = V{kInf, -kInf, kNaN, -0.0f};
    if (i == 4) x = V{kDenormal, -kDenormal, 1e30f, 0.0f};
    const V y = formula(x);
    for (int l = 0; l < 4; ++l) {
      ASSERT_TRUE(same_bits(float(y[l]), formula(float(x[l])))) << name << " of " << x[l];
    }
  }
}

// Kernels run the formulas on vectors; every lane must have the scalar's bits.
TEST(ActivationFormulas, AreTheSameOnVectors) {
  // One of each kind of formula: comparisons, exp, log1p, tanh of a composition, expm1, clamp, a
  // scaled sigmoid, a gate of two operands, and a parameter.
  expect_same_on_vectors("relu", [](auto x) { return simd::relu(x); });
  expect_same_on_vectors("swish", [](auto x) { return simd::swish(x); });
  expect_same_on_vectors("softplus", [](auto x) { return simd::softplus(x); });
  expect_same_on_vectors("mish", [](auto x) { return simd::mish(x); });
  expect_same_on_vectors("selu", [](auto x) { return simd::selu(x); });
  expect_same_on_vectors("hard_sigmoid", [](auto x) { return simd::hard_sigmoid(x); });
  expect_same_on_vectors("quick_gelu", [](auto x) { return simd::quick_gelu(x); });
  expect_same_on_vectors("swiglu", [](auto x) { return simd::swiglu(x, x); });
  expect_same_on_vectors(
      "soft_shrink", [](auto x) { return simd::soft_shrink(x, simd::constant<decltype(x)>(0.5)); });
}

}  // namespace
}  // namespace quern::test
