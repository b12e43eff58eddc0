#include "quern/tensor.h"

#include <gtest/gtest.h>

#include <array>

namespace quern {
namespace {

TEST(Tensor, ReadsBackWhatItWasMadeFrom) {
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  const auto tensor = Tensor::from<float>(DType::kF32, Shape{2, 3}, values);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->read_as<float>().value(), std::vector<float>(values.begin(), values.end()));
  EXPECT_FALSE(tensor->read_as<double>());
  EXPECT_EQ(tensor->reshape(Shape{3, 2})->shape(), (Shape{3, 2}));
  EXPECT_FALSE(tensor->reshape(Shape{4, 2}));
}

TEST(Tensor, BlockFormatsNeedWholeBlocks) {
  EXPECT_EQ(dense_size_bytes(DType::kQ4_0, Shape{3, 64}).value(), 3 * 2 * 18);
  const auto bad = dense_size_bytes(DType::kQ4_K, Shape{3, 100});
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("100"), std::string::npos);
}

TEST(Shape, RefusesBadExtents) {
  EXPECT_FALSE(Shape::make(std::array<int64_t, 2>{2, -1}));
  EXPECT_FALSE(Shape::make(std::array<int64_t, 2>{int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(Shape::make(std::array<int64_t, 9>{1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(Shape::make(std::array<int64_t, 2>{0, 5})->num_elements(), 0);
}

TEST(Buffer, ChecksRanges) {
  auto buffer = Buffer::allocate_host(16);
  ASSERT_TRUE(buffer);
  EXPECT_FALSE(buffer->slice(8, 9));
  EXPECT_FALSE(buffer->slice(-1, 4));
  std::array<std::byte, 17> target{};
  EXPECT_FALSE(buffer->read(0, target));
  EXPECT_FALSE(Buffer().host_view());
}

TEST(DType, NamesRoundTrip) {
  for (const DTypeInfo& info : all_dtypes()) EXPECT_EQ(find_dtype(info.name), info.dtype);
  EXPECT_FALSE(find_dtype("q9_9"));
}

}  // namespace
}  // namespace quern
