// Fused programs that are drawn at random: the text comes back, the types are those of the parts,
// and the result is what the operations give one by one.
#include <gtest/gtest.h>

#include <random>

#include "ops/fused_program.h"
#include "quern/op.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

// An instruction that may be drawn.
struct Choice {
  const char* id;
  size_t num_operands;
  const char* attributes;  // as in the text
};

// One and two operands; without attributes, with a number, and with a text.
constexpr Choice kChoices[] = {
    {"math.add", 2, ""},
    {"math.mul", 2, ""},
    {"elementwise.sub", 2, ""},
    {"elementwise.max", 2, ""},
    {"elementwise.min", 2, ""},
    {"elementwise.neg", 1, ""},
    {"elementwise.abs", 1, ""},
    {"activation.relu", 1, ""},
    {"activation.sigmoid", 1, ""},
    {"activation.leaky_relu", 1, " {alpha = 0.25}"},
    {"math.scale", 1, " {factor = -0.5}"},
    {"elementwise.axpy", 2, " {alpha = 1.5}"},
    {"activation.gelu", 1, " {approximate = \"tanh\"}"},
};

// A program over `num_inputs` tensors as text; every input is read at least once.
std::string random_program(std::mt19937& random, size_t num_inputs) {
  std::string text;
  const size_t count = num_inputs + random() % 8;
  for (size_t i = 0; i < count; ++i) {
    const Choice& choice = kChoices[random() % std::size(kChoices)];
    text += (i == 0 ? "" : "; ") + std::string(choice.id) + "(";
    for (size_t port = 0; port < choice.num_operands; ++port) {
      const size_t operand = random() % (num_inputs + i);
      std::string name = operand < num_inputs ? "x" + std::to_string(operand)
                                              : "v" + std::to_string(operand - num_inputs);
      // The first instructions read the inputs in turn, since a program that leaves one out is
      // refused.
      if (port == 0 && i < num_inputs) name = "x" + std::to_string(i);
      text += (port == 0 ? "" : ", ") + name;
    }
    text += ")" + std::string(choice.attributes);
  }
  return text;
}

// The instructions as operations of their own.
// The oracle: each instruction through the registry on whole tensors, results kept for later
// operands.
Tensor run_one_by_one(const FusedProgram& program, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> results;
  for (const FusedInstruction& instruction : program.instructions) {
    std::vector<Tensor> operands;
    for (const FusedOperand& operand : instruction.operands) {
      const auto index = static_cast<size_t>(operand.index);
      operands.push_back(operand.kind == FusedOperand::Kind::kInput ? inputs[index]
                                                                    : results[index]);
    }
    results.push_back(run_one(instruction.op->id, operands, instruction.attributes));
  }
  return results.back();
}

// 300 programs of up to 11 instructions.
// A lost attribute, a swapped operand or another name for a result would print another text.
TEST(RandomPrograms, TextComesBack) {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    const std::string text = random_program(random, 1 + random() % 4);
    const auto program = parse_fused_program(text, builtin_ops());
    ASSERT_TRUE(program) << program.error().message << "\n" << text;
    EXPECT_EQ(program->to_string(), text);
    EXPECT_TRUE(program->is_elementwise());
  }
}

// Bit for bit, in f64 and f32.
// Results are compared by value. The seeds make no NaN, which would fail.
TEST(RandomPrograms, GiveWhatTheirPartsGive) {
  std::mt19937 random(12);
  for (int i = 0; i < 60; ++i) {
    const size_t num_inputs = 1 + random() % 3;
    const std::string text = random_program(random, num_inputs);
    const auto program = parse_fused_program(text, builtin_ops());
    ASSERT_TRUE(program);
    std::vector<Tensor> wide, narrow;
    for (size_t input = 0; input < num_inputs; ++input) {
      const auto seed = static_cast<uint32_t>(100 * i + static_cast<int>(input));
      wide.push_back(normal_f64(Shape{3, 5}, seed));
      narrow.push_back(normal_f32(Shape{3, 5}, seed));
    }
    const Attributes attributes{{"program", text}};
    EXPECT_EQ(values_of<double>(run_one("fused.elementwise", wide, attributes)),
              values_of<double>(run_one_by_one(*program, wide)))
        << text;
    EXPECT_EQ(values_of<float>(run_one("fused.elementwise", narrow, attributes)),
              values_of<float>(run_one_by_one(*program, narrow)))
        << text;
  }
}

// Symbols pass through programs as through their operations.
// f16, because a rule that answered with the compute type would say f32; a symbol beside a
// constant.
TEST(RandomPrograms, KeepSymbolicTypes) {
  std::mt19937 random(13);
  const TensorType type{DType::kF16, {Dim::symbolic('T'), Dim::constant(7)}};
  for (int i = 0; i < 50; ++i) {
    const size_t num_inputs = 1 + random() % 4;
    const auto program = parse_fused_program(random_program(random, num_inputs), builtin_ops());
    ASSERT_TRUE(program);
    const std::vector<const TensorType*> inputs(num_inputs, &type);
    const auto inferred = infer_fused_program(*program, inputs);
    ASSERT_TRUE(inferred) << inferred.error().message;
    EXPECT_EQ(inferred->to_string(), "f16[T, 7]");
  }
}

// The inferred type as text, or the message of whichever step fails first.
std::string type_error(std::string_view text, std::vector<TensorType> types) {
  const auto program = parse_fused_program(text, builtin_ops());
  if (!program) return program.error().message;
  std::vector<const TensorType*> pointers;
  for (const TensorType& type : types) pointers.push_back(&type);
  const auto inferred = infer_fused_program(*program, pointers);
  return inferred ? inferred->to_string() : inferred.error().message;
}

// By the name that the program gives it.
// x1 where the program itself is at fault; the port of the operation where its rule refuses.
TEST(FusedProgramTypes, ErrorsNameTheOperand) {
  const TensorType row{DType::kF32, {Dim::constant(4)}}, other{DType::kF32, {Dim::constant(5)}};
  EXPECT_EQ(type_error("math.add(x0, x1)", {row, row}), "f32[4]");
  EXPECT_EQ(type_error("math.add(x0, x1)", {row}),
            "The program reads x1, but the node gives it 1 tensors.");
  EXPECT_EQ(type_error("math.exp(x0)", {row, row}),
            "The program does not read x1, of 2 tensors that it was given.");
  EXPECT_EQ(type_error("math.exp(x1)", {row, row}),
            "The program does not read x0, of 2 tensors that it was given.");
  EXPECT_EQ(type_error("math.mul(x0, x1)", {row, other}),
            "math.mul: Port 'y' has type f32[5]; it needs the type of 'x', f32[4].");
  EXPECT_EQ(type_error("", {}), "An empty program needs a tensor to give.");
  EXPECT_EQ(type_error("", {row}), "f32[4]");
  // Only the last result counts, but every instruction must fit.
  EXPECT_EQ(type_error("reduction.sum(x0); math.exp(x0)", {row}), "f32[4]");
  EXPECT_EQ(type_error("reduction.sum(x0)", {row}), "f32[]");
}

// And what the text says wrong, with its column.
// A random effect, two outputs and no inputs are three reasons for one message. Columns count from
// 1.
TEST(FusedProgramTypes, OperationsThatDoNotFitAreRefused) {
  const auto error = [](std::string_view text) {
    const auto program = parse_fused_program(text, builtin_ops());
    return program ? "" : program.error().message;
  };
  EXPECT_EQ(error("random.uniform(x0)"),
            "random.uniform cannot stand in a fused program: it needs inputs, one output and no "
            "effect.");
  EXPECT_EQ(error("quant.dynamic(x0)"),
            "quant.dynamic cannot stand in a fused program: it needs inputs, one output and no "
            "effect.");
  EXPECT_EQ(error("graph.constant(x0)"),
            "graph.constant cannot stand in a fused program: it needs inputs, one output and no "
            "effect.");
  EXPECT_EQ(error("no.such(x0)"), "There is no operation 'no.such'.");
  EXPECT_EQ(error("math.exp(v0)"), "Line 1, column 12: 'v0' is used before it is made.");
  EXPECT_EQ(error("math.exp(x-1)"),
            "Line 1, column 13: 'x-1' is no operand: x0 is an input, v0 a result.");
  EXPECT_EQ(error("math.exp(y0)"),
            "Line 1, column 12: 'y0' is no operand: x0 is an input, v0 a result.");
  EXPECT_EQ(error("math.exp(x0) math.exp(x0)"), "Line 1, column 14: ';' is expected here.");
  EXPECT_EQ(error("math.scale(x0)"), "math.scale needs the attribute 'factor'.");
  EXPECT_EQ(error("math.scale(x0) {factor = 1, factor = 2}"),
            "Line 1, column 35: the attribute 'factor' stands here twice.");
}

}  // namespace
}  // namespace quern::test
