// Distances of results from exact values, and comparison by bits.
#include "conformance/error_units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "conformance/host_values.h"

namespace quern {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

double units(double actual, double exact, double change = 0, DType dtype = DType::kF32) {
  const double a[] = {actual}, e[] = {exact}, c[] = {change};
  return measure_error(dtype, a, e, c).units;
}

// At 1, at 0, at the ends.
TEST(UlpAt, IsTheSpacingOfTheDtype) {
  EXPECT_EQ(ulp_at(DType::kF32, 1.0), 0x1p-23);
  EXPECT_EQ(ulp_at(DType::kF32, -1.99), 0x1p-23);
  EXPECT_EQ(ulp_at(DType::kF32, 2.0), 0x1p-22);
  EXPECT_EQ(ulp_at(DType::kF32, 0.0), 0x1p-149);
  EXPECT_EQ(ulp_at(DType::kF32, 1e-44), 0x1p-149);
  EXPECT_EQ(ulp_at(DType::kF64, 1.0), 0x1p-52);
  EXPECT_EQ(ulp_at(DType::kF16, 1.0), 0x1p-10);
  EXPECT_EQ(ulp_at(DType::kBF16, 1.0), 0x1p-7);
  EXPECT_EQ(ulp_at(DType::kF8E4M3, 1.0), 0x1p-3);
  EXPECT_EQ(ulp_at(DType::kF32, kInf), kInf);
}

// Not of the result.
TEST(MeasureError, CountsUlpsOfTheExactValue) {
  EXPECT_EQ(units(1.0, 1.0), 0);
  EXPECT_EQ(units(1.0 + 0x1p-23, 1.0), 1);
  EXPECT_EQ(units(1.0 - 0x1p-23, 1.0), 1);
  EXPECT_EQ(units(0x1p-149, 0.0), 1);
  EXPECT_EQ(units(-0.0, 0.0), 0);
}

// Ill-conditioned elements are allowed more.
TEST(MeasureError, WidensTheUnitByTheChange) {
  EXPECT_EQ(units(1.0 + 0x1p-20, 1.0), 8);
  EXPECT_EQ(units(1.0 + 0x1p-20, 1.0, 7 * 0x1p-23), 1);
}

// No bound excuses them.
TEST(MeasureError, NaNAndInfinityMustBeWhereTheyBelong) {
  EXPECT_EQ(units(kNan, kNan), 0);
  EXPECT_EQ(units(kNan, 1), kInf);
  EXPECT_EQ(units(1, kNan), kInf);
  EXPECT_EQ(units(kInf, kInf), 0);
  EXPECT_EQ(units(-kInf, kInf), kInf);
  EXPECT_EQ(units(kInf, 1), kInf);
  EXPECT_EQ(units(1, kInf), kInf);
}

// Where rounding is not relative any more.
TEST(MeasureError, LeavesOutWhatF32HoldsBadly) {
  EXPECT_EQ(units(0, 0x1p-120), 0);  // underflow is not relative
  EXPECT_EQ(units(kInf, 1e39), 0);   // past the largest
  EXPECT_GT(units(1, 0x1p-99), 1e20);
}

// The store rounds once more, by half an ulp at most; the rest is counted in ulps of f32.
TEST(MeasureError, NarrowResultsMayBeHalfOfTheirUlpsOff) {
  for (const auto& [dtype, bits] : {std::pair{DType::kF16, 10}, std::pair{DType::kBF16, 7},
                                    std::pair{DType::kF8E4M3, 3}, std::pair{DType::kF8E5M2, 2}}) {
    const double ulp = std::ldexp(1.0, -bits);
    for (const double sign : {1.0, -1.0}) {
      EXPECT_EQ(units(1.5 + sign * ulp / 2, 1.5, 0, dtype), 0);
      // One f32 ulp past it is one unit.
      EXPECT_EQ(units(1.5 + sign * (ulp / 2 + 0x1p-23), 1.5, 0, dtype), 1);
      EXPECT_EQ(units(1.5 + sign * ulp, 1.5, 0, dtype), ulp / 2 * 0x1p23);
    }
  }
}

// 1 + 3/4 ulp rounds to 1 + 1 ulp; a store that cuts bits off leaves 1.
TEST(MeasureError, ATruncatingStoreIsAnError) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const double ulp = ulp_at(dtype, 1.0), exact = 1.0 + 0.75 * ulp;
    EXPECT_EQ(units(1.0 + ulp, exact, 0, dtype), 0);
    EXPECT_GT(units(1.0, exact, 0, dtype), 1000);
  }
  // Denormals of the type have the spacing of its lowest binade.
  EXPECT_EQ(units(0, 0x1p-25, 0, DType::kF16), 0);
  EXPECT_GT(units(0, 1.5 * 0x1p-25, 0, DType::kF16), 1000);
}

// With its place.
TEST(MeasureError, KeepsTheWorstElement) {
  const double actual[] = {1, 2 + 0x1p-20, 3}, exact[] = {1, 2, 3};
  const WorstError worst = measure_error(DType::kF32, actual, exact, {});
  EXPECT_EQ(worst.element, 1);
  EXPECT_EQ(worst.units, 4);
  EXPECT_EQ(worst.exact, 2);
  EXPECT_EQ(measure_error(DType::kF32, {}, {}, {}).element, -1);
}

Tensor tensor(DType dtype, std::vector<double> values) {
  return *tensor_of_numbers(dtype, Shape{static_cast<int64_t>(values.size())}, values);
}

// Zeros differ by sign.
TEST(BitDifference, SeesEachBitButNaNPayloads) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E5M2}) {
    EXPECT_EQ(bit_difference(tensor(dtype, {1, kNan, kInf}), tensor(dtype, {1, kNan, kInf})), "");
    EXPECT_EQ(bit_difference(tensor(dtype, {1, 0}), tensor(dtype, {1, -0.0})),
              "Element 1 of 2 is 0; -0 is expected.");
    EXPECT_NE(bit_difference(tensor(dtype, {kNan}), tensor(dtype, {1})), "");
    EXPECT_NE(bit_difference(tensor(dtype, {kInf}), tensor(dtype, {kNan})), "");
  }
  const uint32_t quiet[] = {0x7FC00000}, other[] = {0xFFC12345};
  const Tensor a = *Tensor::from<uint32_t>(DType::kF32, Shape{1}, quiet);
  const Tensor b = *Tensor::from<uint32_t>(DType::kF32, Shape{1}, other);
  EXPECT_EQ(bit_difference(a, b), "");
}

// Before any element.
TEST(BitDifference, NamesTypesAndShapes) {
  EXPECT_EQ(bit_difference(tensor(DType::kF32, {1}), tensor(DType::kF64, {1})),
            "The result is f32[1]; f64[1] is expected.");
  EXPECT_NE(bit_difference(tensor(DType::kI8, {1, 2}), tensor(DType::kI8, {1})), "");
  EXPECT_EQ(bit_difference(tensor(DType::kI8, {1, -2}), tensor(DType::kI8, {1, -2})), "");
  EXPECT_EQ(bit_difference(tensor(DType::kU64, {1, 2}), tensor(DType::kU64, {1, 3})),
            "Element 1 of 2 is 2; 3 is expected.");
}

}  // namespace
}  // namespace quern
