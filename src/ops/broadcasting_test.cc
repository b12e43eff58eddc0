#include "ops/broadcasting.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// GraphBuilder::type of an id that it has given, never null here.
const TensorType* type_of(GraphBuilder& builder, ValueId value) {
  return builder.type(value);
}

// The types of the inputs after broadcasting, or the error.
// "f32[2, 3] f32[3] " for outputs of these types; inputs are called 0, 1, ...
std::string broadcast(std::string_view id, std::initializer_list<TensorType> types) {
  GraphBuilder builder(builtin_ops());
  std::vector<ValueId> inputs;
  for (const TensorType& type : types)
    inputs.push_back(builder.input(std::to_string(inputs.size()), type));
  const auto outputs = broadcast_inputs(builder, *builtin_ops().find(id), inputs, "n");
  if (!outputs) return outputs.error().message;
  std::string text;
  for (const ValueId output : *outputs) text += type_of(builder, output)->to_string() + " ";
  return text;
}

TensorType f32(std::vector<Dim> dims) {
  return {DType::kF32, std::move(dims)};
}
Dim d(int64_t extent) {
  return Dim::constant(extent);
}
// One symbolic extent, as a batch or a sequence has it.
const Dim kT = Dim::symbolic('T');

// NumPy's rule, written as nodes.
// In order: a missing axis; an axis of 1 on one side and a missing one on the other, so that both
// inputs change; a scalar; equal shapes, which stay as they are; an extent of 0, which wins over 1;
// and two scalars, for which there is no node to add.
TEST(Broadcasting, MakesShapesEqual) {
  EXPECT_EQ(broadcast("math.mul", {f32({d(2), d(3)}), f32({d(3)})}), "f32[2, 3] f32[2, 3] ");
  EXPECT_EQ(broadcast("elementwise.sub", {f32({d(2), d(1)}), f32({d(3)})}), "f32[2, 3] f32[2, 3] ");
  EXPECT_EQ(broadcast("elementwise.max", {f32({}), f32({d(2)})}), "f32[2] f32[2] ");
  EXPECT_EQ(broadcast("math.mul", {f32({d(2)}), f32({d(2)})}), "f32[2] f32[2] ");
  EXPECT_EQ(broadcast("math.mul", {f32({d(0), d(3)}), f32({d(1), d(3)})}), "f32[0, 3] f32[0, 3] ");
  EXPECT_EQ(broadcast("compare.less", {f32({}), f32({})}), "f32[] f32[] ");
}

// A symbolic extent needs an input to take it from.
TEST(Broadcasting, SymbolsFollowAnInputThatHasThem) {
  EXPECT_EQ(broadcast("math.mul", {f32({kT, d(3)}), f32({d(1)})}), "f32[T, 3] f32[T, 3] ");
  // [T, 3] is the common shape, and no input has it as a whole: neither the attribute (a number)
  // nor the port `like` (a tensor of that shape) can say it.
  EXPECT_EQ(broadcast("math.mul", {f32({kT, d(1)}), f32({d(3)})}),
            "f32[T, 1] broadcasts to a shape with symbols that no input has.");
}

// What the operation does itself needs no node.
TEST(Broadcasting, LeavesBiasesAndOtherOperationsAlone) {
  EXPECT_EQ(broadcast("math.add", {f32({kT, d(3)}), f32({d(3)})}), "f32[T, 3] f32[3] ");
  // The alias has the same rule. A product of matrices is not in the list at all.
  EXPECT_EQ(broadcast("Add", {f32({d(2), d(3)}), f32({d(3)})}), "f32[2, 3] f32[3] ");
  EXPECT_EQ(broadcast("math.matmul", {f32({d(2), d(3)}), f32({d(3), d(4)})}),
            "f32[2, 3] f32[3, 4] ");
}

// The error names both types.
TEST(Broadcasting, RefusesShapesThatDoNotFit) {
  EXPECT_EQ(
      broadcast("math.mul", {f32({d(2)}), f32({d(3)})}),
      "Ports 'x' and 'y' have types f32[2] and f32[3], which do not broadcast to a common shape.");
  EXPECT_EQ(
      broadcast("math.mul", {f32({kT}), f32({d(3)})}),
      "Ports 'x' and 'y' have types f32[T] and f32[3], which do not broadcast to a common shape.");
}

}  // namespace
}  // namespace quern
