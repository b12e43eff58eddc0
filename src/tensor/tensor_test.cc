// Tests of tensors: sizes, copies, views, and what does not fit.
#include "quern/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace quern {
namespace {

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor::from<float>(DType::kF32, shape, values).value();
}

// Bytes and values.
TEST(Tensor, ReadsBackWhatItWasMadeFrom) {
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  const auto tensor = Tensor::from<float>(DType::kF32, Shape{2, 3}, values);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->read_as<float>().value(), std::vector<float>(values.begin(), values.end()));
  EXPECT_EQ(tensor->size_bytes(), 24);
  EXPECT_EQ(tensor->dtype(), DType::kF32);
  EXPECT_EQ(tensor->layout(), Layout{});
  EXPECT_FALSE(tensor->quant());
}

// Signed and unsigned.
TEST(Tensor, EveryElementTypeReadsAsItsWidth) {
  const std::array<uint8_t, 8> raw = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto bytes = std::as_bytes(std::span(raw));
  const auto i64 = Tensor::from_bytes(DType::kI64, Shape{1}, bytes).value();
  // Bytes 1 to 8 in order: the first byte is the lowest, as on a little-endian host.
  EXPECT_EQ(i64.read_as<int64_t>().value(), std::vector<int64_t>{0x0807060504030201});
  const auto u16 = Tensor::from_bytes(DType::kU16, Shape{4}, bytes).value();
  EXPECT_EQ(u16.read_as<uint16_t>().value(),
            (std::vector<uint16_t>{0x0201, 0x0403, 0x0605, 0x0807}));
  const auto i8 = Tensor::from_bytes(DType::kI8, Shape{2, 4}, bytes).value();
  EXPECT_EQ(i8.read_as<int8_t>()->at(7), 8);
  EXPECT_EQ(i8.read()->size(), 8U);
}

// Not a reinterpretation.
TEST(Tensor, ReadingAsAnotherWidthIsAnError) {
  const Tensor tensor = counting(Shape{2});
  const auto wide = tensor.read_as<double>();
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().message, "A f32 tensor cannot be read as elements of 8 bytes.");
  const Tensor blocks = Tensor::zeros(DType::kQ8_0, Shape{32}).value();
  EXPECT_FALSE(blocks.read_as<int8_t>());
  const Tensor nibbles = Tensor::zeros(DType::kI4, Shape{2}).value();
  // One byte holds two of its elements: the byte size alone would fit.
  EXPECT_FALSE(nibbles.read_as<int8_t>());
}

// Absent, not of no elements.
TEST(Tensor, ADefaultTensorIsEmpty) {
  const Tensor tensor;
  EXPECT_TRUE(tensor.is_empty());
  EXPECT_EQ(tensor.shape().rank(), 0);
  EXPECT_EQ(tensor.host_view().error().code, ErrorCode::kFailedPrecondition);
  EXPECT_FALSE(tensor.read());
}

// With shape and dtype.
TEST(Tensor, NoElementsIsATensorToo) {
  const auto tensor = Tensor::zeros(DType::kF32, Shape{3, 0});
  ASSERT_TRUE(tensor);
  EXPECT_FALSE(tensor->is_empty());
  EXPECT_EQ(tensor->size_bytes(), 0);
  EXPECT_TRUE(tensor->read_as<float>()->empty());
  EXPECT_TRUE(tensor->host_view()->empty());
}

// A scalar.
TEST(Tensor, RankZeroHoldsOneElement) {
  const auto tensor = Tensor::from<float>(DType::kF32, Shape{}, std::array<float, 1>{2.5F});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->read_as<float>().value(), std::vector<float>{2.5F});
}

// Tensors are handles.
TEST(Tensor, CopiesShareTheBuffer) {
  Tensor first = counting(Shape{2});
  const Tensor second = first;
  auto view = first.buffer().mutable_host_view().value();
  reinterpret_cast<float*>(view.data())[0] = 9.0F;
  EXPECT_EQ(second.read_as<float>()->front(), 9.0F);
}

// Nothing moves.
TEST(Tensor, ReshapeKeepsElementsBufferAndQuantisation) {
  Tensor tensor = counting(Shape{2, 6});
  QuantSpec quant;
  quant.bits = 4;
  tensor.set_quant(quant);
  const auto other = tensor.reshape(Shape{3, 4});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->read_as<float>().value(), tensor.read_as<float>().value());
  EXPECT_EQ(other->quant()->bits, 4);
  EXPECT_EQ(other->host_view()->data(), tensor.host_view()->data());
  const auto wrong = tensor.reshape(Shape{4, 2});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "A tensor of shape [2, 6] cannot be reshaped to [4, 2].");
}

// A block lies in one row.
TEST(Tensor, ReshapeKeepsBlocksWhole) {
  const Tensor tensor = Tensor::zeros(DType::kQ4_0, Shape{4, 64}).value();
  EXPECT_TRUE(tensor.reshape(Shape{2, 128}));
  EXPECT_TRUE(tensor.reshape(Shape{8, 32}));
  // 256 elements as before, but rows of 16 would cut a block of 32 in two.
  EXPECT_FALSE(tensor.reshape(Shape{16, 16}));
}

// Views into mapped files.
TEST(Tensor, TheBufferMustBeLargeEnough) {
  const Buffer buffer = Buffer::allocate_host(20).value();
  EXPECT_TRUE(Tensor::make(DType::kF32, Shape{5}, buffer));
  EXPECT_TRUE(Tensor::make(DType::kF32, Shape{2}, buffer));
  const auto over = Tensor::make(DType::kF32, Shape{2, 3}, buffer);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().message,
            "A f32 tensor of shape [2, 3] needs 24 bytes; the buffer has 20.");
  EXPECT_FALSE(Tensor::make(DType::kF32, Shape{1}, Buffer()));
}

// Too few or too many.
TEST(Tensor, TheCountOfValuesMustFit) {
  const auto few = Tensor::from<float>(DType::kF32, Shape{3}, std::array<float, 2>{1, 2});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().message, "A f32 tensor of shape [3] has 12 bytes; 8 were given.");
  EXPECT_FALSE(Tensor::from<double>(DType::kF32, Shape{3}, std::array<double, 3>{}));
}

// 34 bytes for 32 elements.
TEST(DenseSize, CountsWholeBlocks) {
  // 3 rows of 2 blocks of 18 bytes.
  EXPECT_EQ(dense_size_bytes(DType::kQ4_0, Shape{3, 64}).value(), 3 * 2 * 18);
  EXPECT_EQ(dense_size_bytes(DType::kI4, Shape{5, 6}).value(), 15);
  EXPECT_EQ(dense_size_bytes(DType::kB1, Shape{16}).value(), 2);
  EXPECT_EQ(dense_size_bytes(DType::kComplex128, Shape{2}).value(), 32);
  EXPECT_EQ(dense_size_bytes(DType::kQ4_0, Shape{7, 0}).value(), 0);
  const auto bad = dense_size_bytes(DType::kQ4_K, Shape{3, 100});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "The last extent 100 of a q4_K tensor is not a multiple of its block of 256.");
  EXPECT_FALSE(dense_size_bytes(DType::kI4, Shape{}));
}

// Before anything is allocated.
TEST(DenseSize, HugeAndNegativeShapesAreErrors) {
  EXPECT_FALSE(dense_size_bytes(DType::kF64, Shape{int64_t{1} << 60}));
  EXPECT_TRUE(dense_size_bytes(DType::kU8, Shape{(int64_t{1} << 62) - 1}));
  // Shapes that did not go through Shape::make().
  EXPECT_FALSE(dense_size_bytes(DType::kF32, Shape{-1}));
  // The product of two negative extents is positive: only the extents themselves show the mistake.
  EXPECT_FALSE(dense_size_bytes(DType::kF32, Shape{-2, -3}));
  EXPECT_FALSE(dense_size_bytes(DType::kU8, Shape{int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(Tensor::zeros(DType::kF32, Shape{-4}));
}

}  // namespace
}  // namespace quern
