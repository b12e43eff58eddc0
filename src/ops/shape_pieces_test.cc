// Concat, split, slice, gather_rows: values, symbolic types, errors.
#include <gtest/gtest.h>

#include "ir/tensor_type.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

// A type from its text; the tests write only valid ones.
TensorType type(const char* text) {
  return parse_tensor_type(text).value();
}

// The attribute that most of these operations call their axis.
Attributes dim(int64_t axis) {
  return {{"dim", axis}};
}

// One, two and many, along each axis.
// Columns 1 + 2 + 1 of two rows, one part used twice: a loop that copied part after part without
// interleaving the rows would give 1 2 3 4 5 6 1 2. A single part is copied; the axis is 0 by
// default.
TEST(Concat, JoinsAnyNumberOfTensors) {
  const Tensor a = f32(Shape{2, 1}, {1, 2}), b = f32(Shape{2, 2}, {3, 4, 5, 6});
  const Tensor y = run_one("shape.concat", {a, b, a}, dim(-1));
  EXPECT_EQ(y.shape(), (Shape{2, 4}));
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{1, 3, 4, 1, 2, 5, 6, 2}));
  EXPECT_EQ(values_of<float>(run_one("shape.concat", {a})), (std::vector<float>{1, 2}));
}

// Multiples of one symbol.
// T + 2 T is 3 T, but T + 3 cannot be written. Then another dtype, another rank, no such axis.
TEST(Concat, AddsSymbolicExtents) {
  const auto joined = [](const char* a, const char* b, int64_t axis) {
    const auto types = infer_op("shape.concat", {type(a), type(b)}, dim(axis));
    return types ? types->front().to_string() : "";
  };
  EXPECT_EQ(joined("f32[T, 2]", "f32[T, 3]", 1), "f32[T, 5]");
  EXPECT_EQ(joined("f32[T, 2]", "f32[2*T, 2]", 0), "f32[3*T, 2]");
  EXPECT_EQ(joined("f32[T, 2]", "f32[3, 2]", 0), "");
  EXPECT_EQ(joined("f32[T, 2]", "f16[T, 2]", 0), "");
  EXPECT_EQ(joined("f32[T, 2]", "f32[T]", 0), "");
  EXPECT_EQ(joined("f32[T, 2]", "f32[T, 2]", 2), "");
}

// A new first axis counts them.
// Two chunks of two columns keep their rows: 0 1 4 5, then 2 3 6 7. 3 does not divide 4, and 0
// divides nothing.
TEST(Split, StacksChunks) {
  const Tensor x = f32(Shape{2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor y = run_one("shape.split", {x}, {{"dim", int64_t{1}}, {"split_size", int64_t{2}}});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_FALSE(run_op("shape.split", {x}, {{"dim", int64_t{1}}, {"split_size", int64_t{3}}}));
  EXPECT_FALSE(run_op("shape.split", {x}, {{"dim", int64_t{1}}, {"split_size", int64_t{0}}}));
}

// Half open, never past the end.
// end = 0 stands for the extent: [2, 0) is the last element, [3, 0) none, [4, 0) past the end.
TEST(Slice, BoundsAreChecked) {
  const Tensor x = f32(Shape{3}, {1, 2, 3});
  const auto slice = [&](int64_t start, int64_t end) {
    return run_op("shape.slice", {x}, {{"start", start}, {"end", end}});
  };
  EXPECT_EQ(values_of<float>(slice(1, 3)->front()), (std::vector<float>{2, 3}));
  EXPECT_EQ(values_of<float>(slice(2, 0)->front()), (std::vector<float>{3}));
  EXPECT_EQ(slice(2, 2)->front().shape(), (Shape{0}));
  EXPECT_EQ(slice(3, 0)->front().shape(), (Shape{0}));
  for (const auto& [start, end] : {std::pair<int64_t, int64_t>{0, 4}, {-1, 2}, {2, 1}, {4, 0}}) {
    const auto bad = slice(start, end);
    ASSERT_FALSE(bad) << start << " " << end;
    EXPECT_EQ(bad.error().code, ErrorCode::kOutOfRange);
  }
}

// What the rule cannot check the kernel does.
// A slice up to an unknown end has no extent that could be written.
TEST(Slice, OfSymbolicAxes) {
  const auto sliced = [](int64_t start, int64_t end) {
    const auto types =
        infer_op("shape.slice", {type("f32[T, 4]")}, {{"start", start}, {"end", end}});
    return types ? types->front().to_string() : "";
  };
  EXPECT_EQ(sliced(0, 0), "f32[T, 4]");
  EXPECT_EQ(sliced(1, 3), "f32[2, 4]");
  EXPECT_EQ(sliced(1, 0), "");
}

// Any order, no row outside.
// Row 2 twice and out of order. Refused with place and value: too large, negative, and rows that
// are no integers.
TEST(GatherRows, RepeatsAndRefuses) {
  const Tensor x = f32(Shape{3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values_of<float>(run_one("shape.gather_rows", {x, i32(Shape{3}, {2, 0, 2})})),
            (std::vector<float>{5, 6, 1, 2, 5, 6}));
  EXPECT_EQ(run_one("shape.gather_rows", {x, i32(Shape{0}, {})}).shape(), (Shape{0, 2}));
  const auto bad = run_op("shape.gather_rows", {x, i32(Shape{2}, {0, 3})});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "Element 1 of 'rows' is 3; 'x' has 3 rows.");
  EXPECT_FALSE(run_op("shape.gather_rows", {x, i32(Shape{1}, {-1})}));
  EXPECT_FALSE(run_op("shape.gather_rows", {x, f32(Shape{1}, {0})}));
}

}  // namespace
}  // namespace quern::test
