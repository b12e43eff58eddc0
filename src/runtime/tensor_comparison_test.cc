#include "runtime/tensor_comparison.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace quern {
namespace {

template <class T>
Tensor tensor(DType dtype, const std::vector<T>& values) {
  return *Tensor::from<T>(dtype, Shape{static_cast<int64_t>(values.size())}, values);
}
// Of floats.
Tensor f32(const std::vector<float>& values) {
  return tensor(DType::kF32, values);
}

// Tensors that can be compared.
std::optional<TensorDifference> compare(const Tensor& a, const Tensor& b) {
  const auto difference = compare_tensors(a, b);
  EXPECT_TRUE(difference) << (difference ? "" : difference.error().message);
  return difference ? *difference : std::nullopt;
}

// NaNs count as equal.
TEST(CompareTensors, EqualBitsAreNoDifference) {
  EXPECT_FALSE(compare(f32({1, -0.0F, INFINITY}), f32({1, -0.0F, INFINITY})));
  EXPECT_FALSE(compare(f32({}), f32({})));
  // NaNs of other signs and payloads are equal.
  EXPECT_FALSE(
      compare(f32({std::bit_cast<float>(0x7fc00001U)}), f32({std::bit_cast<float>(0xffc00002U)})));
}

// Bits differ, values do not.
TEST(CompareTensors, SignsOfZeroDiffer) {
  const auto d = compare(f32({0.0F, 1}), f32({-0.0F, 1}));
  ASSERT_TRUE(d);
  EXPECT_EQ(d->num_different, 1);
  EXPECT_EQ(d->max_absolute, 0);
  EXPECT_EQ(d->max_ulp, 0);
}

// They need not be the same element.
TEST(CompareTensors, FindsFirstAndWorst) {
  const auto d = compare(f32({1, 2.5F, 3, 10}), f32({1, 2, 3, 8}));
  ASSERT_TRUE(d);
  EXPECT_EQ(d->num_elements, 4);
  EXPECT_EQ(d->num_different, 2);
  EXPECT_EQ(d->first_index, 1);
  EXPECT_EQ(d->worst_index, 3);
  EXPECT_EQ(d->worst_actual, 10);
  EXPECT_EQ(d->worst_expected, 8);
  EXPECT_EQ(d->max_absolute, 2);
  EXPECT_EQ(d->max_relative, 0.25);
}

// Across zero too.
TEST(CompareTensors, CountsUlps) {
  EXPECT_EQ(compare(f32({std::nextafter(1.0F, 2.0F)}), f32({1}))->max_ulp, 1);
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(compare(f32({tiny}), f32({-tiny}))->max_ulp, 2);  // across zero
  EXPECT_EQ(compare(tensor<double>(DType::kF64, {std::nextafter(1.0, 0.0)}),
                    tensor<double>(DType::kF64, {1.0}))
                ->max_ulp,
            1);
  EXPECT_EQ(
      compare(tensor<uint16_t>(DType::kF16, {0x3c01}), tensor<uint16_t>(DType::kF16, {0x3c00}))
          ->max_ulp,
      1);
  EXPECT_EQ(
      compare(tensor<uint16_t>(DType::kBF16, {0x3f81}), tensor<uint16_t>(DType::kBF16, {0x3f80}))
          ->max_ulp,
      1);
  EXPECT_EQ(
      compare(tensor<uint8_t>(DType::kF8E4M3, {0x39}), tensor<uint8_t>(DType::kF8E4M3, {0x38}))
          ->max_ulp,
      1);
}

// On one side only.
TEST(CompareTensors, NaNAndInfinityAreWorst) {
  const auto d = compare(f32({100, NAN, 1}), f32({0, 1, 1}));
  ASSERT_TRUE(d);
  EXPECT_EQ(d->worst_index, 1);
  EXPECT_TRUE(std::isinf(d->max_absolute));
  EXPECT_TRUE(std::isinf(d->max_relative));
  EXPECT_EQ(compare(f32({INFINITY}), f32({-INFINITY}))->num_different, 1);
}

// Also past 2^53.
TEST(CompareTensors, IntegersAreExact) {
  const auto d = compare(tensor<int64_t>(DType::kI64, {INT64_MAX, 5}),
                         tensor<int64_t>(DType::kI64, {INT64_MAX - 1, 5}));
  ASSERT_TRUE(d);
  EXPECT_EQ(d->num_different, 1);
  EXPECT_EQ(
      compare(tensor<uint8_t>(DType::kU8, {3}), tensor<uint8_t>(DType::kU8, {5}))->max_absolute, 2);
}

// There is nothing to divide by.
TEST(CompareTensors, ExpectedZerosGiveTheAbsoluteError) {
  EXPECT_EQ(compare(f32({3}), f32({0}))->max_relative, 3);
}

// Comparing them says nothing.
TEST(CompareTensors, OtherTypesAreRefused) {
  EXPECT_EQ(compare_tensors(f32({1}), f32({1, 2})).error().message,
            "A f32[1] and a f32[2] cannot be compared.");
  EXPECT_FALSE(compare_tensors(f32({1}), tensor<double>(DType::kF64, {1})));
  const std::vector<std::byte> a(34), b(34, std::byte{1});
  EXPECT_FALSE(compare_tensors(*Tensor::from_bytes(DType::kQ8_0, Shape{32}, a),
                               *Tensor::from_bytes(DType::kQ8_0, Shape{32}, b)));
}

// The last axis varies fastest.
TEST(ElementPosition, IsRowMajor) {
  EXPECT_EQ(element_position(Shape{2, 3, 4}, 23), "[1, 2, 3]");
  EXPECT_EQ(element_position(Shape{2, 3, 4}, 5), "[0, 1, 1]");
  EXPECT_EQ(element_position(Shape{}, 0), "[]");
}

}  // namespace
}  // namespace quern
