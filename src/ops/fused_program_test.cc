// Programs of fused nodes: text, types, meaning; and the nodes that carry them.
#include "ops/fused_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "quern/graph_builder.h"
#include "support/op_runner.h"

namespace quern {
namespace {

// A program that must parse.
FusedProgram parsed(std::string_view text) {
  auto program = parse_fused_program(text, builtin_ops());
  EXPECT_TRUE(program.has_value()) << (program ? "" : program.error().message);
  return program ? std::move(*program) : FusedProgram{};
}

// The message of one that must not.
std::string error_of(std::string_view text) {
  const auto program = parse_fused_program(text, builtin_ops());
  EXPECT_FALSE(program.has_value()) << text;
  return program ? "" : program.error().message;
}

Tensor f32(const Shape& shape, std::vector<float> values) {
  return *Tensor::from<float>(DType::kF32, shape, values);
}

// A tensor of f32 as a list.
std::vector<float> floats(const Tensor& tensor) {
  return tensor.is_empty() ? std::vector<float>{} : *tensor.read_as<float>();
}

// Programs are kept as text in graphs.
TEST(FusedProgram, TextRoundTrips) {
  // Nothing; one instruction; attributes; an absent port, two results and numbers that need a
  // point.
  for (const char* text :
       {"", "math.exp(x0)", "math.mul(x0, x1); activation.gelu(v0) {approximate = \"tanh\"}",
        "math.layernorm(x0, _, x1) {eps = 0.25}; math.add(v0, x0); math.scale(v1) {factor = "
        "2.0}"}) {
    EXPECT_EQ(parsed(text).to_string(), text);
  }
}

// A default that is written out is not another program.
TEST(FusedProgram, AttributesTakeTheirDefaults) {
  // eps is not given and is 1e-6, the default of math.rmsnorm; blanks do not matter.
  EXPECT_EQ(parsed("math.rmsnorm(x0)").instructions[0].attributes.number("eps"), 1e-6);
  EXPECT_EQ(parsed("  math.exp( x0 ) ;math.sin(v0)").to_string(), "math.exp(x0); math.sin(v0)");
}

// Backends run only those element by element.
TEST(FusedProgram, KnowsElementwisePrograms) {
  EXPECT_TRUE(parsed("math.exp(x0); math.add(v0, x1)").is_elementwise());
  EXPECT_FALSE(parsed("math.exp(x0); math.rmsnorm(v0)").is_elementwise());
  EXPECT_TRUE(parsed("").is_elementwise());
}

// Programs come from files.
TEST(FusedProgram, HostileTextIsAnErrorWithItsPlace) {
  // The end where a parenthesis is missing: column 12.
  EXPECT_NE(error_of("math.exp(x0").find("Line 1, column 12"), std::string::npos);
  // A result of itself; an unknown letter; no number; a number past 31 bits; no such operation; no
  // separator; no such attribute; an operation with an effect; one with two outputs.
  EXPECT_NE(error_of("math.exp(v0)").find("used before it is made"), std::string::npos);
  EXPECT_NE(error_of("math.exp(y0)").find("no operand"), std::string::npos);
  EXPECT_NE(error_of("math.exp(x)").find("no operand"), std::string::npos);
  EXPECT_NE(error_of("math.exp(x99999999999999999999)").find("no operand"), std::string::npos);
  EXPECT_NE(error_of("math.nothing(x0)").find("no operation"), std::string::npos);
  EXPECT_NE(error_of("math.exp(x0) math.sin(x0)").find("';' is expected"), std::string::npos);
  EXPECT_NE(error_of("math.exp(x0) {a = 1}").find("no attribute 'a'"), std::string::npos);
  EXPECT_NE(error_of("math.dropout(x0)").find("cannot stand in a fused program"),
            std::string::npos);
  EXPECT_NE(error_of("sort.top_k(x0) {k = 1}").find("one output"), std::string::npos);
}

// A limit that no real model meets.
TEST(FusedProgram, LongProgramsAreRefused) {
  std::string text = "math.exp(x0)";
  // One more than the limit.
  for (size_t i = 1; i <= kMaxFusedInstructions; ++i) text += "; math.exp(x0)";
  EXPECT_FALSE(parse_fused_program(text, builtin_ops()).has_value());
}

// A program fits where its operations would.
TEST(FusedProgram, TypesFollowTheRulesOfTheOperations) {
  // T stays a symbol: programs fit graphs whose batch is not known.
  const TensorType x{DType::kF32, {Dim::symbolic('T'), Dim::constant(4)}};
  const TensorType bias{DType::kF32, {Dim::constant(4)}};
  const std::vector<const TensorType*> inputs = {&x, &bias};
  const auto type = infer_fused_program(parsed("math.add(x0, x1); math.exp(v0)"), inputs);
  ASSERT_TRUE(type.has_value()) << type.error().message;
  // add repeats its bias; exp keeps the type.
  EXPECT_EQ(*type, x);
  EXPECT_EQ(*infer_fused_program(parsed(""), inputs), x);
  // mul has no bias form: what the operation alone refuses, the program does.
  EXPECT_FALSE(infer_fused_program(parsed("math.mul(x0, x1)"), inputs).has_value());
  const auto missing = infer_fused_program(parsed("math.exp(x2)"), inputs);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message, "The program reads x2, but the node gives it 2 tensors.");
  // The second input of an addition is required.
  EXPECT_FALSE(infer_fused_program(parsed("math.add(x0, _)"), inputs).has_value());
  const auto unread = infer_fused_program(parsed("math.exp(x0)"), inputs);
  ASSERT_FALSE(unread.has_value());
  EXPECT_EQ(unread.error().message,
            "The program does not read x1, of 2 tensors that it was given.");
}

// Each result may be read by all later ones.
TEST(FusedElementwise, ComputesItsPartsInOrder) {
  // All four sums are positive, so that relu changes nothing and the difference is 0.
  const Tensor y =
      test::run_one("fused.elementwise", {f32({2, 2}, {1, -2, 3, -4}), f32({2}, {10, 20})},
                    {{"program",
                      "math.add(x0, x1); activation.relu(v0); "
                      "elementwise.sub(v1, v0)"}});
  EXPECT_EQ(floats(y), (std::vector<float>{0, 0, 0, 0}));
  const Tensor z = test::run_one("fused.elementwise", {f32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})},
                                 {{"program", "math.mul(x0, x1); elementwise.sub(v0, x0)"}});
  EXPECT_EQ(floats(z), (std::vector<float>{3, 8, 15}));
}

// 65504 * 2 is infinite in f16, so the difference is NaN; in f32 it would be 65504.
TEST(FusedElementwise, NarrowResultsRoundBetweenTheParts) {
  // 0x7BFF is 65,504, the largest f16.
  const std::vector<uint16_t> largest = {0x7BFF};
  const Tensor x = *Tensor::from<uint16_t>(DType::kF16, Shape{1}, largest);
  const Tensor y =
      test::run_one("fused.elementwise", {x},
                    {{"program", "math.scale(x0) {factor = 2.0}; elementwise.sub(v0, v0)"}});
  const auto bits = *y.read_as<uint16_t>();
  // An exponent of ones with a fraction: NaN.
  EXPECT_EQ(bits[0] & 0x7C00, 0x7C00);
  EXPECT_NE(bits[0] & 0x03FF, 0);
}

// An empty tensor has an address and is not absent.
TEST(FusedElementwise, EmptyTensorsStayEmpty) {
  // A chain of two, since the memory between them is empty too.
  const Tensor y = test::run_one("fused.elementwise", {f32({0, 3}, {})},
                                 {{"program", "math.exp(x0); math.sin(v0)"}});
  EXPECT_EQ(y.shape(), (Shape{0, 3}));
}

// A sum inside would need whole rows.
TEST(FusedElementwise, OtherOperationsAreRefused) {
  const auto run = test::run_op("fused.elementwise", {f32({2, 2}, {1, 2, 3, 4})},
                                {{"program", "math.softmax(x0)"}});
  ASSERT_FALSE(run.has_value());
  EXPECT_NE(run.error().message.find("only elementwise operations may follow"), std::string::npos);
}

// With residual and bias as operands.
TEST(FusedLinear, IsTheProductAndWhatFollows) {
  const Tensor x = f32({1, 2}, {3, 4});
  // y = (3 + 0, 3 + 4 - 10) = (3, -3); relu (3, 0); plus the residual.
  const Tensor w = f32({2, 2}, {1, 0, 1, 1});
  const Tensor bias = f32({2}, {0, -10});
  const Tensor residual = f32({1, 2}, {100, 200});
  const Tensor y = test::run_one("fused.linear", {x, w, bias, Tensor(), residual},
                                 {{"program", "activation.relu(x0); math.add(x1, v0)"}});
  EXPECT_EQ(floats(y), (std::vector<float>{103, 200}));
}

// Nothing follows: the product itself.
// (3 + 4) * 2.
TEST(FusedLinear, AnEmptyProgramIsTheProduct) {
  const Tensor y = test::run_one("fused.linear", {f32({1, 2}, {3, 4}), f32({1, 2}, {1, 1})},
                                 {{"program", ""}, {"weight_scale", 2.0}});
  EXPECT_EQ(floats(y), (std::vector<float>{14}));
}

// x0 is the gate, x1 is up.
TEST(GatedLinear, SeesBothProducts) {
  // gate: 3, up: 4 * 0.5, so that exchanging the two, or their scales, shows.
  const Tensor x = f32({1, 2}, {3, 4});
  const Tensor gate = f32({1, 2}, {1, 0});
  const Tensor up = f32({1, 2}, {0, 1});
  const Tensor y =
      test::run_one("fused.gated_linear", {x, gate, up},
                    {{"program", "elementwise.sub(x0, x1)"}, {"up_weight_scale", 0.5}});
  EXPECT_EQ(floats(y), (std::vector<float>{1}));
}

// A short operand repeats.
TEST(FusedMatmul, AddsAVectorToEachRow) {
  // Products (3, 4) and (6, 8), plus (10, 20).
  const Tensor c =
      test::run_one("fused.matmul", {f32({2, 1}, {1, 2}), f32({1, 2}, {3, 4}), f32({2}, {10, 20})},
                    {{"program", "math.add(x0, x1)"}});
  EXPECT_EQ(floats(c), (std::vector<float>{13, 24, 16, 28}));
}

// One query and two equal scores: the mean of the values.
TEST(FusedAttention, WeighsValuesByTheSoftmaxOfTheScores) {
  // Scores 6 and 6, times 0.5: equal, so that the mean of 10 and 30 comes out whatever the scale.
  const Tensor out = test::run_one("fused.attention",
                                   {f32({1, 1}, {2}), f32({1, 2}, {3, 3}), f32({2, 1}, {10, 30})},
                                   {{"program", "math.scale(x0) {factor = 0.5}"}});
  EXPECT_EQ(floats(out), (std::vector<float>{20}));
}

// As the two nodes would, bit for bit.
TEST(FusedQuantize, QuantisesTheResultOfTheProgram) {
  // Products (1, -4): amax 4, d = 4 / 127, 1 * 127 / 4 = 31.75 rounds to 32.
  const auto made = test::run_op("fused.quantize", {f32({1, 2}, {1, -2}), f32({1, 2}, {1, 2})},
                                 {{"program", "math.mul(x0, x1)"}, {"block", int64_t{2}}});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(*(*made)[0].read_as<int8_t>(), (std::vector<int8_t>{32, -127}));
  EXPECT_EQ(floats((*made)[1]), (std::vector<float>{4.0f / 127}));
}

// Only what can be computed row by row.
TEST(FusedQuantize, OtherOperationsAreRefused) {
  const auto run =
      test::run_op("fused.quantize", {f32({1, 2}, {1, 2})}, {{"program", "math.softmax(x0)"}});
  ASSERT_FALSE(run.has_value());
  EXPECT_NE(run.error().message.find("cannot precede a quantisation"), std::string::npos);
}

// Bits of any dtype, NaN payloads too.
TEST(GraphCopy, KeepsTheValues) {
  // NaN and -0 are what a conversion would change.
  const Tensor y = test::run_one("graph.copy", {f32({3}, {1, NAN, -0.0f})},
                                 {{"from", "cpu"}, {"to", "reference"}});
  const auto values = floats(y);
  EXPECT_EQ(values[0], 1);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_TRUE(std::signbit(values[2]));
}

// The second result is the last one, and has the extents of x1: rows of scores that do not exist.
TEST(FusedAttention, RefusesProgramsThatLoseTheScores) {
  const auto run = [](const std::string& program) {
    return test::run_op(
        "fused.attention",
        {test::f32(Shape{3, 2}, {1, 2, 3, 4, 5, 6}), test::f32(Shape{2, 2}, {1, 2, 3, 4}),
         test::f32(Shape{2, 1}, {1, 2}), test::f32(Shape{1, 2}, {1, 2})},
        {{"program", program}});
  };
  const auto refused = run("math.exp(x0); math.exp(x1)");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(
                "The program gives f32[1, 2]; it must keep the type of the scores, f32[3, 2]."),
            std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace quern
