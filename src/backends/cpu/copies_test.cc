// Operations that move rows or pieces, against the reference.
#include <gtest/gtest.h>

#include "support/graph_runner.h"
#include "support/op_compare.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::random_tensor;

Tensor ids(DType dtype, const std::vector<int64_t>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  if (dtype == DType::kI64) return *Tensor::from<int64_t>(dtype, shape, values);
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return *Tensor::from<int32_t>(dtype, shape, narrow);
}

// 512 columns are two blocks of 256 and sixteen of 32. Ids at both ends, one twice, none at all; 30
// and -1 are errors, which must be the reference's.
TEST(EmbeddingToken, HasTheBitsOfTheReferenceForEveryDtype) {
  std::mt19937 random(3);
  for (const DTypeInfo& info : all_dtypes()) {
    if (!can_encode(info.dtype)) continue;
    const Tensor table = random_tensor(info.dtype, Shape{30, 512}, random);
    for (const DType index : {DType::kI32, DType::kI64}) {
      SCOPED_TRACE(dtype_name(info.dtype));
      expect_reference_bits("embedding.token", {ids(index, {29, 0, 7, 7}), table});
      expect_reference_bits("embedding.token", {ids(index, {}), table});
      expect_reference_bits("embedding.token", {ids(index, {3, 30}), table});
      expect_reference_bits("embedding.token", {ids(index, {-1}), table});
    }
  }
}

// 400 rows of 512: enough for the pool; q5_1 decodes with both scale and minimum.
TEST(EmbeddingToken, ManyRowsSpreadOverThreads) {
  std::mt19937 random(3);
  std::vector<int64_t> many(400);
  for (int64_t& id : many) id = static_cast<int64_t>(random() % 30);
  expect_reference_bits("embedding.token", {ids(DType::kI32, many),
                                            random_tensor(DType::kQ5_1, Shape{30, 512}, random)});
}

TEST(GatherRows, HasTheBitsOfTheReference) {
  std::mt19937 random(3);
  const Tensor x = random_tensor(DType::kF16, Shape{9, 3, 5}, random);
  expect_reference_bits("shape.gather_rows", {x, ids(DType::kI32, {8, 0, 0, 4})});
  expect_reference_bits("shape.gather_rows", {x, ids(DType::kI64, {})});
  expect_reference_bits("shape.gather_rows", {x, ids(DType::kI64, {9})});
  expect_reference_bits("shape.gather_rows", {x, ids(DType::kI64, {-1})});
  std::vector<int64_t> many(500);
  for (int64_t& row : many) row = static_cast<int64_t>(random() % 40);
  expect_reference_bits("shape.gather_rows", {random_tensor(DType::kF32, Shape{40, 1111}, random),
                                              ids(DType::kI32, many)});
}

// 4, 5 and 6 differ, so that a mixed-up axis changes the shape; -1 is the last axis.
TEST(ConcatAndSlice, HaveTheBitsOfTheReferenceAlongEveryAxis) {
  std::mt19937 random(3);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI8}) {
    const Tensor x = random_tensor(dtype, Shape{4, 5, 6}, random);
    for (const int64_t dim : {0, 1, 2, -1}) {
      Shape other{4, 5, 6};
      other[static_cast<int>(dim < 0 ? 2 : dim)] = 3;
      expect_reference_bits("shape.concat", {x, random_tensor(dtype, other, random), x},
                            {{"dim", dim}});
      expect_reference_bits("shape.slice", {x}, {{"dim", dim}});
      expect_reference_bits("shape.slice", {x},
                            {{"dim", dim}, {"start", int64_t{1}}, {"end", int64_t{3}}});
      expect_reference_bits("shape.slice", {x}, {{"dim", dim}, {"start", int64_t{2}}});
    }
  }
  const Tensor large = random_tensor(DType::kF32, Shape{700, 1000}, random);
  expect_reference_bits("shape.slice", {large},
                        {{"dim", int64_t{1}}, {"start", int64_t{10}}, {"end", int64_t{900}}});
  expect_reference_bits("shape.concat", {large, large}, {{"dim", int64_t{1}}});
}

}  // namespace
}  // namespace quern
