// Reference kernels that run on ranges of rows over the threads.
#include <gtest/gtest.h>

#include "quern/graph_builder.h"
#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::random_tensor;

// Operations whose rows do not depend on each other: any cut must give the same bits.
TEST(ReferenceRows, GiveTheBitsOfOneCall) {
  std::mt19937 random(4);
  for (const Shape& shape :
       {Shape{300, 70}, Shape{3, 5, 33}, Shape{0, 4}, Shape{9}, Shape{1, 64}}) {
    SCOPED_TRACE(shape.to_string());
    const Tensor x = random_tensor(DType::kF32, shape, random, 50);
    expect_reference_bits("math.cast", {x}, {{"to", "f16"}});
    expect_reference_bits("math.sign", {x});
    expect_reference_bits("math.inv_sqrt_dim_scale", {x});
    expect_reference_bits("math.logsumexp", {x});
    expect_reference_bits("reduction.argmin", {x});
    expect_reference_bits("sort.top_k", {x}, {{"k", int64_t{3}}});
  }
}

// Rows are cut at whole blocks; b1 packs eight elements into a byte.
TEST(ReferenceRows, TakeRowsOfBlocks) {
  std::mt19937 random(4);
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_K, DType::kB1}) {
    expect_reference_bits("math.cast", {random_tensor(dtype, Shape{150, 256}, random)},
                          {{"to", "f32"}});
  }
  expect_reference_bits("math.cast", {random_tensor(DType::kF32, Shape{150, 64}, random)},
                        {{"to", "q8_0"}});
}

TEST(ReferenceRows, ChooseRowsOfTwoTensors) {
  std::mt19937 random(4);
  const Shape shape{200, 90};
  std::vector<int32_t> chooses(200);
  for (int32_t& choice : chooses) choice = static_cast<int32_t>(random() % 2);
  expect_reference_bits(
      "shape.select_rows",
      {random_tensor(DType::kF32, shape, random), random_tensor(DType::kF32, shape, random),
       *Tensor::from<int32_t>(DType::kI32, Shape{200}, chooses)});
}

// An error of a range is the error of the step.
TEST(ReferenceRows, ReportErrors) {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", {DType::kF32, {Dim::symbolic('T'), Dim::symbolic('N')}});
  b.output("largest", b.add("sort.top_k", {x}, {{"k", int64_t{2}}}, "top"));
  auto graph = b.finish();
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  auto cpu = test::load_graph(*graph, {});
  ASSERT_TRUE(cpu.has_value());
  std::mt19937 random(4);
  // Enough rows for several ranges: the error comes from one of the threads.
  const auto result = cpu->run({{"x", random_tensor(DType::kF32, Shape{20000, 1}, random)}});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message,
            "Node 'top' (sort.top_k): Attribute 'k' is 2; input 'x' has rows of 1 elements.");
}

}  // namespace
}  // namespace quern
