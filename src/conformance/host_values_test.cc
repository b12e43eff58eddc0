// Tensors as numbers and back.
#include "conformance/host_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace quern {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> round_trip(DType dtype, std::vector<double> values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  const auto tensor = tensor_of_numbers(dtype, shape, values);
  EXPECT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(tensor->dtype(), dtype);
  return *numbers_of(*tensor);
}

// From f64, never through f32.
TEST(HostValues, FloatsRoundOnce) {
  EXPECT_EQ(round_trip(DType::kF64, {0.1, -kInf}), (std::vector<double>{0.1, -kInf}));
  EXPECT_EQ(round_trip(DType::kF32, {0.1}), (std::vector<double>{static_cast<double>(0.1f)}));
  EXPECT_EQ(round_trip(DType::kF16, {2049, 2051, 1e6}), (std::vector<double>{2048, 2052, kInf}));
  EXPECT_EQ(round_trip(DType::kBF16, {257}), (std::vector<double>{256}));
  EXPECT_TRUE(std::isnan(round_trip(DType::kF8E4M3, {std::nan("")})[0]));
  EXPECT_TRUE(std::signbit(round_trip(DType::kF32, {-0.0})[0]));
}

// As constants do.
TEST(HostValues, IntegersRoundAndClamp) {
  EXPECT_EQ(round_trip(DType::kI8, {1.5, 2.5, 300, -300, std::nan("")}),
            (std::vector<double>{2, 2, 127, -128, 0}));
  EXPECT_EQ(round_trip(DType::kU8, {-1, 255}), (std::vector<double>{0, 255}));
  EXPECT_EQ(round_trip(DType::kI64, {-9007199254740992}), (std::vector<double>{-9007199254740992}));
}

// Real, then imaginary.
TEST(HostValues, ComplexNumbersArePairs) {
  for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
    const auto tensor = tensor_of_numbers(dtype, Shape{2}, std::vector<double>{1, -2, 0.5, kInf});
    ASSERT_TRUE(tensor);
    EXPECT_TRUE(is_complex(tensor->dtype()));
    EXPECT_EQ(*numbers_of(*tensor), (std::vector<double>{1, -2, 0.5, kInf}));
  }
}

// Too few or too many.
TEST(HostValues, CountsMustFit) {
  const auto bad = tensor_of_numbers(DType::kF32, Shape{2, 2}, std::vector<double>{1, 2, 3});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "A tensor of shape [2, 2] has 4 elements; 3 numbers were given.");
}

// Empty, absent, and without numbers are three things.
TEST(HostValues, NothingHasNoNumbers) {
  EXPECT_TRUE(numbers_of(Tensor())->empty());
  EXPECT_TRUE(numbers_of(*Tensor::zeros(DType::kF32, Shape{0, 3}))->empty());
  EXPECT_FALSE(numbers_of(*Tensor::zeros(DType::kQ8_0, Shape{32})));
  EXPECT_FALSE(host_view_of(Tensor())->is_present());
  EXPECT_TRUE(host_view_of(*Tensor::zeros(DType::kF32, Shape{0}))->is_present());
}

// Integers are exact already.
TEST(InPrecision, ChangesFloatsAndComplexNumbersOnly) {
  const Tensor wide = *tensor_of_numbers(DType::kF64, Shape{1}, std::vector<double>{0.1});
  EXPECT_EQ(in_precision(wide, DType::kF32)->dtype(), DType::kF32);
  EXPECT_EQ(in_precision(wide, DType::kF16)->dtype(), DType::kF16);
  EXPECT_EQ(in_precision(wide, DType::kF64)->buffer().host_view()->data(),
            wide.host_view()->data());  // the same tensor
  const Tensor pair = *tensor_of_numbers(DType::kComplex128, Shape{1}, std::vector<double>{1, 2});
  EXPECT_EQ(in_precision(pair, DType::kF32)->dtype(), DType::kComplex64);
  EXPECT_EQ(in_precision(pair, DType::kF64)->dtype(), DType::kComplex128);
  const Tensor ids = *tensor_of_numbers(DType::kI64, Shape{1}, std::vector<double>{3});
  EXPECT_EQ(in_precision(ids, DType::kF32)->dtype(), DType::kI64);
  EXPECT_TRUE(in_precision(Tensor(), DType::kF32)->is_empty());
}

}  // namespace
}  // namespace quern
