// Reshape, transpose, permute, heads, broadcast: values, symbolic types, errors.
#include <gtest/gtest.h>

#include <numeric>

#include "ir/tensor_type.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

using Integers = std::vector<int64_t>;

// 0, 1, 2, ...: an element tells where it came from.
std::vector<float> iota(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

// The type that an operation gives for inputs written as text, or its error.
std::string inferred(std::string_view id, const std::vector<std::string>& inputs,
                     const Attributes& attributes) {
  std::vector<TensorType> types;
  for (const std::string& text : inputs) types.push_back(parse_tensor_type(text).value());
  const auto result = infer_op(id, types, attributes);
  return result ? result->front().to_string() : result.error().message;
}

// [T, 6] as [-1, 3] is [2*T, 3].
// What the known extents leave, as a multiple of T; the dtype is any of whole bytes.
TEST(Reshape, InfersSymbolicExtents) {
  const auto reshaped = [](const char* type, Integers shape) {
    return inferred("shape.reshape", {type}, {{"shape", std::move(shape)}});
  };
  EXPECT_EQ(reshaped("f32[T, 576]", {-1, 9, 64}), "f32[T, 9, 64]");
  EXPECT_EQ(reshaped("f32[T, 9, 64]", {-1, 576}), "f32[T, 576]");
  EXPECT_EQ(reshaped("i8[T, 6]", {-1, 3}), "i8[2*T, 3]");
  EXPECT_EQ(reshaped("f32[2*T]", {2, -1}), "f32[2, T]");
  EXPECT_EQ(reshaped("f32[0, 3]", {3, 0}), "f32[3, 0]");
}

// And names both.
// One full message, then in order: two extents to infer, one below -1, a rest, no elements, two
// symbols, a symbol against a constant, packed elements, 2^80 elements, rank 9.
TEST(Reshape, RefusesOtherCounts) {
  const auto error = inferred("shape.reshape", {"f32[2, 3]"}, {{"shape", Integers{4, 2}}});
  EXPECT_NE(error.find("Port 'x' has type f32[2, 3] with 6 elements; it cannot take the shape "
                       "[4, 2]."),
            std::string::npos)
      << error;
  const auto bad = [](const char* type, Integers shape) {
    return infer_op("shape.reshape", {parse_tensor_type(type).value()},
                    {{"shape", std::move(shape)}});
  };
  EXPECT_FALSE(bad("f32[2, 3]", {-1, -1}));
  EXPECT_FALSE(bad("f32[2, 3]", {-2, 3}));
  EXPECT_FALSE(bad("f32[2, 3]", {-1, 4}));
  EXPECT_FALSE(bad("f32[2, 0]", {-1, 0}));
  EXPECT_FALSE(bad("f32[S, T]", {-1}));
  EXPECT_FALSE(bad("f32[T, 3]", {6}));
  EXPECT_FALSE(bad("q4_0[2, 32]", {64}));
  EXPECT_FALSE(bad("f32[4]", {int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(bad("f32[1]", {1, 1, 1, 1, 1, 1, 1, 1, 1}));
}

// Two bytes an element, none of which is read as a number; an axis from each end.
TEST(Transpose, MovesEveryDtypeOfWholeBytes) {
  const Tensor x = tensor_of<uint16_t>(DType::kBF16, Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor y = run_one("shape.transpose", {x}, {{"dim0", int64_t{0}}, {"dim1", int64_t{-1}}});
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  EXPECT_EQ(values_of<uint16_t>(y), (std::vector<uint16_t>{1, 4, 2, 5, 3, 6}));
}

// Not the inverse permutation.
// The inverse order would give [3, 4, 2]. Then orders with too few axes, one twice, one not there.
TEST(Permute, AxisIComesFromOrderI) {
  const Tensor y =
      run_one("shape.permute", {f32(Shape{2, 3, 4}, iota(24))}, {{"order", Integers{2, 0, 1}}});
  EXPECT_EQ(y.shape(), (Shape{4, 2, 3}));
  const auto values = values_of<float>(y);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 6; ++j) EXPECT_EQ(values[size_t(i * 6 + j)], float(j * 4 + i));
  }
  const Tensor x = f32(Shape{2, 3}, iota(6));
  EXPECT_FALSE(run_op("shape.permute", {x}, {{"order", Integers{0}}}));
  EXPECT_FALSE(run_op("shape.permute", {x}, {{"order", Integers{0, 0}}}));
  EXPECT_FALSE(run_op("shape.permute", {x}, {{"order", Integers{0, 2}}}));
}

// Bit for bit.
// Element 6 of [2, 4, 3, 2] is head 1 of token 0: column 2 of the first row of x.
TEST(Heads, SplitAndMergeAreInverse) {
  const Tensor x = f32(Shape{2, 3, 8}, iota(48));
  const Tensor heads = run_one("shape.view_as_heads", {x}, {{"num_heads", int64_t{4}}});
  EXPECT_EQ(heads.shape(), (Shape{2, 4, 3, 2}));
  EXPECT_EQ(values_of<float>(heads)[6], 2.0f);  // batch 0, head 1, token 0, column 0
  EXPECT_EQ(values_of<float>(run_one("shape.merge_heads", {heads})), iota(48));
  EXPECT_EQ(inferred("shape.view_as_heads", {"f32[S, T, 8]"}, {{"num_heads", int64_t{4}}}),
            "f32[S, 4, T, 2]");
  EXPECT_EQ(inferred("shape.merge_heads", {"f32[S, 4, T, 2]"}, {}), "f32[S, T, 8]");
}

// And adds leading ones.
// A column repeats along a new last extent and a new first axis; -1 keeps its 2 rows. A scalar
// fills a vector.
TEST(Broadcast, RepeatsAxesOfExtentOne) {
  const Tensor x = f32(Shape{2, 1}, {1, 2});
  const Tensor y = run_one("shape.broadcast", {x}, {{"shape", Integers{2, -1, 3}}});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(
      values_of<float>(run_one("shape.broadcast", {f32(Shape{}, {7})}, {{"shape", Integers{2}}})),
      (std::vector<float>{7, 7}));
}

// Its values do not matter.
// i32 in `like` lends only its extents. With both sources of extents the call is ambiguous.
TEST(Broadcast, TakesThePortLike) {
  EXPECT_EQ(inferred("shape.broadcast", {"f32[64]", "i32[T, 64]"}, {}), "f32[T, 64]");
  EXPECT_NE(inferred("shape.broadcast", {"f32[3]", "f32[T, 64]"}, {}).find("does not broadcast"),
            std::string::npos);
  EXPECT_FALSE(infer_op("shape.broadcast",
                        {parse_tensor_type("f32[1]").value(), parse_tensor_type("f32[3]").value()},
                        {{"shape", Integers{3}}}));
}

// T = 0 is an error.
// Rows 1 of two batches of two.
TEST(LastToken, NeedsAToken) {
  EXPECT_EQ(values_of<float>(run_one("shape.last_token", {f32(Shape{2, 2, 2}, iota(8))})),
            (std::vector<float>{2, 3, 6, 7}));
  EXPECT_FALSE(run_op("shape.last_token", {f32(Shape{2, 0, 2}, {})}));
}

// Nearest neighbour.
// One row becomes two, each of two columns three.
TEST(Upsample, RepeatsRowsAndColumns) {
  const Tensor y = run_one("shape.upsample_nearest2d", {f32(Shape{1, 1, 1, 2}, {1, 2})},
                           {{"out_h", int64_t{2}}, {"out_w", int64_t{6}}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
}

// Extents of 0 anywhere.
// The empty axis moves, splits off heads, and survives a -1.
TEST(ShapeViews, EmptyTensorsStayEmpty) {
  const Tensor x = f32(Shape{0, 3, 4}, {});
  EXPECT_EQ(run_one("shape.permute", {x}, {{"order", Integers{1, 2, 0}}}).shape(),
            (Shape{3, 4, 0}));
  EXPECT_EQ(run_one("shape.view_as_heads", {x}, {{"num_heads", int64_t{2}}}).shape(),
            (Shape{0, 2, 3, 2}));
  EXPECT_EQ(run_one("shape.reshape", {x}, {{"shape", Integers{-1, 12}}}).shape(), (Shape{0, 12}));
}

}  // namespace
}  // namespace quern::test
