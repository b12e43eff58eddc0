// Inputs, weights, constants and the list of operations.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/op_runner.h"

namespace quern::test {
namespace {

// The inventory is made of these texts.
TEST(BuiltinOps, EveryOperationHasADocAndATypeRule) {
  for (const OpDef* op : builtin_ops().list()) {
    EXPECT_FALSE(op->doc.empty()) << op->id;
    EXPECT_NE(op->infer, nullptr) << op->id;
    EXPECT_GE(op->version, 1) << op->id;
    for (const AttributeDef& attribute : op->attributes) {
      EXPECT_FALSE(attribute.doc.empty()) << op->id << " " << attribute.name;
      if (!attribute.default_value) continue;
      // AttributeValue's alternatives are in the order of AttributeKind, so that a default of the
      // wrong kind shows as another index.
      EXPECT_EQ(attribute.default_value->index(), static_cast<size_t>(attribute.kind))
          << op->id << " " << attribute.name;
    }
  }
}

// Symbols and layouts included.
TEST(GraphInput, TypeComesFromItsText) {
  const auto types = infer_op("Input", {}, {{"type", std::string("f32[T, 64]")}});
  ASSERT_TRUE(types.has_value()) << types.error().message;
  EXPECT_EQ((*types)[0].to_string(), "f32[T, 64]");
  // No such dtype; and no type at all.
  EXPECT_FALSE(infer_op("Input", {}, {{"type", std::string("f33[T]")}}).has_value());
  EXPECT_FALSE(infer_op("Input", {}).has_value());
}

// From f64, never through f32.
TEST(GraphConstant, ValuesRoundOnceToTheDtype) {
  const double third = 1.0 / 3.0;
  // 1/3 rounds, -0 keeps its sign, 1e300 leaves f32.
  const std::vector<double> values = {third, -0.0, 1e300};
  const Tensor c =
      run_one("graph.constant", {}, {{"type", std::string("f32[3]")}, {"values", values}});
  const auto floats = values_of<float>(c);
  ASSERT_EQ(floats.size(), 3u);
  EXPECT_EQ(floats[0], static_cast<float>(third));
  EXPECT_TRUE(std::signbit(floats[1]));
  EXPECT_EQ(floats[2], std::numeric_limits<float>::infinity());
}

// As quantising does.
TEST(GraphConstant, IntegersRoundToEvenAndClamp) {
  // 2.5 and 3.5 go to the even neighbours 2 and 4; -1e9 and 300 clamp; NaN is 0.
  const std::vector<double> values = {2.5, 3.5, -1e9, 300, std::nan("")};
  const Tensor c =
      run_one("graph.constant", {}, {{"type", std::string("i8[5]")}, {"values", values}});
  EXPECT_EQ(values_of<int8_t>(c), (std::vector<int8_t>{2, 4, -128, 127, 0}));
}

// A constant has one value for each element.
TEST(GraphConstant, RefusesWrongCountsAndSymbols) {
  const std::vector<double> one = {1.0};
  // Two elements and one value; a symbolic extent; a block format.
  EXPECT_FALSE(run_op("graph.constant", {}, {{"type", std::string("f32[2]")}, {"values", one}}));
  EXPECT_FALSE(run_op("graph.constant", {}, {{"type", std::string("f32[T]")}, {"values", one}}));
  EXPECT_FALSE(run_op("graph.constant", {}, {{"type", std::string("q8_0[32]")}, {"values", one}}));
}

// The helper that these tests stand on.
TEST(RunOp, ReportsUnknownOperationsAttributesAndPorts) {
  EXPECT_EQ(run_op("math.no_such", {}).error().code, ErrorCode::kNotFound);
  const auto unknown = run_op("graph.constant", {}, {{"tipe", std::string("f32[2]")}});
  EXPECT_NE(unknown.error().message.find("no attribute 'tipe'"), std::string::npos);
}

}  // namespace
}  // namespace quern::test
