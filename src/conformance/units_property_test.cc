// Units of error against the numbers themselves: every code of the narrow floats, scaled pairs,
// and differences by bits for every dtype.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "conformance/error_units.h"
#include "conformance/host_values.h"

namespace quern {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Every code of a float of 8 or 16 bits as a number.
std::vector<double> all_values(DType dtype) {
  const int64_t size = dtype_info(dtype).block_bytes;
  const int64_t count = size == 1 ? 256 : 65536;
  std::vector<std::byte> bytes;
  for (int64_t code = 0; code < count; ++code) {
    for (int64_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(code >> (8 * i)));
  }
  return *numbers_of(*Tensor::from_bytes(dtype, Shape{count}, bytes));
}

constexpr DType kNarrow[] = {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};

// From each number to the next larger one is one ulp, denormals and all binades included.
TEST(UlpAt, IsTheDistanceToTheNextNumber) {
  for (const DType dtype : kNarrow) {
    std::vector<double> values;
    for (const double x : all_values(dtype)) {
      if (std::isfinite(x) && x >= 0 && !std::signbit(x)) values.push_back(x);
    }
    std::ranges::sort(values);
    ASSERT_GT(values.size(), 100u);
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      ASSERT_EQ(ulp_at(dtype, values[i]), values[i + 1] - values[i])
          << dtype_name(dtype) << " at " << values[i];
      ASSERT_EQ(ulp_at(dtype, -values[i]), ulp_at(dtype, values[i]));
    }
    // Past the largest number the spacing is that of its binade.
    EXPECT_EQ(ulp_at(dtype, 2 * values.back()), ulp_at(dtype, values.back()));
  }
}

// Random patterns of all binades.
TEST(UlpAt, AgreesWithNextafterInF32AndF64) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) {
    const auto narrow = std::bit_cast<float>(static_cast<uint32_t>(random() & 0x7F7FFFFF));
    EXPECT_EQ(ulp_at(DType::kF32, static_cast<double>(narrow)),
              static_cast<double>(std::nextafter(narrow, HUGE_VALF)) - static_cast<double>(narrow))
        << narrow;
    const auto wide = std::bit_cast<double>(random() & 0x7FDFFFFFFFFFFFFF);
    EXPECT_EQ(ulp_at(DType::kF64, wide), std::nextafter(wide, HUGE_VAL) - wide) << wide;
  }
}

double units(double actual, double exact, double change = 0) {
  const double a[] = {actual}, e[] = {exact}, c[] = {change};
  return measure_error(DType::kF32, a, e, c).units;
}

// A result k floats away from the exact one is k units off, in every binade that counts.
TEST(MeasureErrorUnits, CountFloats) {
  std::mt19937 random(4);
  for (int i = 0; i < 2000; ++i) {
    const int exponent = static_cast<int>(random() % 190) - 95;
    const auto exact = std::ldexp(1.0f + static_cast<float>(random() % 1000) / 2000.0f, exponent);
    float actual = exact;
    const int steps = static_cast<int>(random() % 50);
    for (int step = 0; step < steps; ++step) actual = std::nextafter(actual, HUGE_VALF);
    EXPECT_EQ(units(static_cast<double>(actual), static_cast<double>(exact)), steps)
        << exact << " + " << steps;
    EXPECT_EQ(units(-static_cast<double>(actual), -static_cast<double>(exact)), steps);
  }
}

// Powers of two move numbers and errors alike.
TEST(MeasureErrorUnits, DoNotDependOnTheBinade) {
  for (int exponent = -90; exponent <= 90; exponent += 9) {
    const double scale = std::ldexp(1.0, exponent);
    EXPECT_EQ(units(1.0000005 * scale, 1.25 * scale), units(1.0000005, 1.25)) << exponent;
    EXPECT_EQ(units(1.5 * scale, 1.25 * scale, 0.125 * scale), units(1.5, 1.25, 0.125)) << exponent;
  }
}

// A change widens the unit: with a change of an ulp the error halves.
TEST(MeasureErrorUnits, ChangesWidenThem) {
  const double exact = 3.0, ulp = ulp_at(DType::kF32, exact);
  EXPECT_EQ(units(exact + 8 * ulp, exact, 0), 8);
  EXPECT_EQ(units(exact + 8 * ulp, exact, ulp), 4);
  EXPECT_EQ(units(exact + 8 * ulp, exact, 3 * ulp), 2);
  EXPECT_EQ(units(0x1p-60, 0, 0x1p-60), 1);  // near 0 the ulp is nothing beside the change
}

// Infinities and zeros of both signs.
TEST(MeasureErrorUnits, SignsMatter) {
  EXPECT_EQ(units(0.0, -0.0), 0);  // zeros are equal as numbers
  EXPECT_EQ(units(kInf, -kInf), kInf);
  EXPECT_EQ(units(kInf, 1e30), kInf);  // far from overflow
  EXPECT_GT(units(-1, 1), 1e6);
}

// Reports are the same on every run.
TEST(WorstErrors, MergeKeepsTheFirstOfEquals) {
  WorstError worst;
  EXPECT_EQ(worst.element, -1);
  worst.merge({0, 3, 1, 1});
  EXPECT_EQ(worst.element, 3);  // no error is known better than none
  worst.merge({2, 5, 1, 1});
  worst.merge({2, 7, 1, 1});
  EXPECT_EQ(worst.element, 5);
  worst.merge({kInf, 9, 1, 1});
  worst.merge({1e300, 11, 1, 1});
  EXPECT_EQ(worst.element, 9);
}

Tensor of_codes(DType dtype, const std::vector<uint16_t>& codes) {
  const auto size = static_cast<size_t>(dtype_info(dtype).block_bytes);
  std::vector<std::byte> bytes;
  for (const uint16_t code : codes) {
    for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(code >> (8 * i)));
  }
  return *Tensor::from_bytes(dtype, Shape{static_cast<int64_t>(codes.size())}, bytes);
}

// NaN codes equal each other and nothing else; all others equal only themselves.
TEST(BitDifferences, EveryCodeOfTheNarrowFloats) {
  for (const DType dtype : kNarrow) {
    const auto values = all_values(dtype);
    uint16_t nan = 0;
    for (size_t code = 0; code < values.size(); ++code) {
      if (std::isnan(values[code])) nan = static_cast<uint16_t>(code);
    }
    ASSERT_NE(nan, 0);
    std::vector<uint16_t> codes, nans;
    for (size_t code = 0; code < values.size(); ++code) {
      const auto c = static_cast<uint16_t>(code);
      (std::isnan(values[code]) ? nans : codes).push_back(c);
    }
    EXPECT_EQ(bit_difference(of_codes(dtype, nans),
                             of_codes(dtype, std::vector<uint16_t>(nans.size(), nan))),
              "");
    EXPECT_EQ(bit_difference(of_codes(dtype, codes), of_codes(dtype, codes)), "");
    for (size_t i = 0; i < codes.size(); i += codes.size() / 60) {
      EXPECT_NE(bit_difference(of_codes(dtype, {codes[i]}), of_codes(dtype, {nan})), "");
      const auto flipped = static_cast<uint16_t>(codes[i] ^ 1);
      if (std::isnan(values[flipped])) continue;
      EXPECT_NE(bit_difference(of_codes(dtype, {codes[i]}), of_codes(dtype, {flipped})), "");
    }
  }
}

// Integers of all widths and packed formats have no NaN: any two bytes that differ are a
// difference.
TEST(BitDifferences, OtherDtypesDifferByTheirBytes) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.is_float || is_complex(info.dtype)) continue;
    const Shape shape{4 * info.block_size};
    const auto bytes = static_cast<size_t>(4 * info.block_bytes);
    std::vector<std::byte> ones(bytes, std::byte{0xFF}), other = ones;
    const Tensor a = *Tensor::from_bytes(info.dtype, shape, ones);
    EXPECT_EQ(bit_difference(a, a), "") << info.name;
    other.back() = std::byte{0x7E};
    const Tensor b = *Tensor::from_bytes(info.dtype, shape, other);
    EXPECT_TRUE(bit_difference(a, b).starts_with("Element 3 of 4 is ")) << bit_difference(a, b);
  }
}

// NaN in one part hides nothing in the other.
TEST(BitDifferences, ComplexNumbersDifferByTheirParts) {
  const auto pair = [](DType dtype, double re, double im) {
    return *tensor_of_numbers(dtype, Shape{1}, std::vector<double>{re, im});
  };
  for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
    EXPECT_EQ(bit_difference(pair(dtype, 1, 2), pair(dtype, 1, 2)), "");
    EXPECT_EQ(bit_difference(pair(dtype, 1, 3), pair(dtype, 1, 2)),
              "Element 1 of 2 is 3; 2 is expected.");
    EXPECT_EQ(bit_difference(pair(dtype, std::nan(""), 2), pair(dtype, std::nan("1"), 2)), "");
    EXPECT_NE(bit_difference(pair(dtype, std::nan(""), 2), pair(dtype, 2, std::nan(""))), "");
  }
}

// But for the shape.
TEST(BitDifferences, NothingEqualsNothing) {
  const Tensor none = *Tensor::zeros(DType::kF32, Shape{0, 3});
  EXPECT_EQ(bit_difference(none, none), "");
  EXPECT_EQ(bit_difference(none, *Tensor::zeros(DType::kF32, Shape{3, 0})),
            "The result is f32[0, 3]; f32[3, 0] is expected.");
}

}  // namespace
}  // namespace quern
