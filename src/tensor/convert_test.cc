#include "tensor/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/npz_reader.h"

namespace quern {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A narrow format described from its definition, apart from the code under test.
struct FormatFacts {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
  float (*widen)(uint32_t);
  uint32_t (*from_f32)(float);
  uint32_t (*from_f64)(double);
};

const FormatFacts kFormats[] = {
    {"f16", 5, 10, true, [](uint32_t c) { return f16_to_f32(static_cast<uint16_t>(c)); },
     [](float x) -> uint32_t { return to_f16(x); }, [](double x) -> uint32_t { return to_f16(x); }},
    {"bf16", 8, 7, true, [](uint32_t c) { return bf16_to_f32(static_cast<uint16_t>(c)); },
     [](float x) -> uint32_t { return to_bf16(x); },
     [](double x) -> uint32_t { return to_bf16(x); }},
    {"f8e4m3", 4, 3, false, [](uint32_t c) { return f8e4m3_to_f32(static_cast<uint8_t>(c)); },
     [](float x) -> uint32_t { return to_f8e4m3(x); },
     [](double x) -> uint32_t { return to_f8e4m3(x); }},
    {"f8e5m2", 5, 2, true, [](uint32_t c) { return f8e5m2_to_f32(static_cast<uint8_t>(c)); },
     [](float x) -> uint32_t { return to_f8e5m2(x); },
     [](double x) -> uint32_t { return to_f8e5m2(x); }},
};

uint32_t sign_bit(const FormatFacts& f) {
  return 1u << (f.exponent_bits + f.mantissa_bits);
}

// The value of a code without its sign, from the definition of the format.
double value_of(const FormatFacts& f, uint32_t magnitude) {
  const int top = (1 << f.exponent_bits) - 1;
  const int bias = top / 2;
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const int ones = (1 << f.mantissa_bits) - 1;
  const int mantissa = static_cast<int>(magnitude) & ones;
  if (exponent == top && f.has_infinity) return mantissa == 0 ? kInf : kNan;
  if (exponent == top && mantissa == ones) return kNan;
  if (exponent == 0) return std::ldexp(mantissa, 1 - bias - f.mantissa_bits);
  return std::ldexp(mantissa + ones + 1, exponent - bias - f.mantissa_bits);
}

// All codes of all narrow formats.
TEST(NarrowFloat, EveryCodeWidensToItsValueAndComesBack) {
  for (const FormatFacts& f : kFormats) {
    for (uint32_t code = 0; code < 2 * sign_bit(f); ++code) {
      const bool is_negative = (code & sign_bit(f)) != 0;
      const double magnitude = value_of(f, code & (sign_bit(f) - 1));
      const float widened = f.widen(code);
      if (std::isnan(magnitude)) {
        EXPECT_TRUE(std::isnan(widened)) << f.name << " " << code;
        EXPECT_TRUE(std::isnan(f.widen(f.from_f32(widened)))) << f.name << " " << code;
        continue;
      }
      const float expected = static_cast<float>(is_negative ? -magnitude : magnitude);
      ASSERT_EQ(std::bit_cast<uint32_t>(widened), std::bit_cast<uint32_t>(expected))
          << f.name << " " << code;
      ASSERT_EQ(f.from_f32(widened), code) << f.name;
      ASSERT_EQ(f.from_f64(widened), code) << f.name;
    }
  }
}

// The f64 neighbours of a midpoint lie closer to it than f32 can say: two roundings would fail.
TEST(NarrowFloat, MidpointsGoToEvenAndTheirNeighboursToTheNearest) {
  for (const FormatFacts& f : kFormats) {
    // All pairs of finite neighbours, denormal ones too.
    for (uint32_t code = 0; std::isfinite(value_of(f, code + 1)); ++code) {
      const double middle = (value_of(f, code) + value_of(f, code + 1)) / 2;
      const uint32_t even = code + (code & 1);
      ASSERT_EQ(f.from_f64(middle), even) << f.name << " " << code;
      ASSERT_EQ(f.from_f64(-middle), even | sign_bit(f)) << f.name << " " << code;
      ASSERT_EQ(f.from_f64(std::nextafter(middle, 0.0)), code) << f.name << " " << code;
      ASSERT_EQ(f.from_f64(std::nextafter(middle, 1e300)), code + 1) << f.name << " " << code;
      const float narrow_middle = static_cast<float>(middle);
      if (narrow_middle != middle) continue;  // half a bf16 denormal step is below f32's last bit
      ASSERT_EQ(f.from_f32(narrow_middle), even) << f.name << " " << code;
      ASSERT_EQ(f.from_f32(std::nextafter(narrow_middle, 0.0f)), code) << f.name << " " << code;
      ASSERT_EQ(f.from_f32(std::nextafter(narrow_middle, kInf)), code + 1) << f.name << " " << code;
    }
  }
}

// Each format has its own end.
TEST(NarrowFloat, OverflowFollowsTheFormatAndTheSaturateArgument) {
  // 65,520 is the midpoint of 65,504 and 65,536; 0x7BFF is odd, so the tie goes up to infinity.
  EXPECT_EQ(to_f16(65519.996f), 0x7BFF);
  EXPECT_EQ(to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(to_f16(-1e30), 0xFC00);
  EXPECT_EQ(to_bf16(3.4e38f), 0x7F80);
  EXPECT_EQ(to_bf16(1e300), 0x7F80);
  // 464 is the midpoint of 448 and 480; 0x7E is even, so the tie stays finite, other than in f16.
  EXPECT_EQ(to_f8e4m3(464.0f), 0x7E);
  EXPECT_EQ(to_f8e4m3(465.0f), 0x7E);
  EXPECT_EQ(to_f8e4m3(464.0f, false), 0x7E);
  EXPECT_EQ(to_f8e4m3(465.0f, false), 0x7F);
  EXPECT_EQ(to_f8e4m3(-kInf), 0xFE);
  EXPECT_EQ(to_f8e4m3(kInf, false), 0x7F);
  EXPECT_EQ(to_f8e5m2(61439.0f), 0x7B);
  EXPECT_EQ(to_f8e5m2(61440.0f), 0x7C);
  EXPECT_EQ(to_f8e5m2(kInf), 0x7C);
  EXPECT_EQ(to_f8e5m2(-kInf, true), 0xFB);
  EXPECT_EQ(to_f8e5m2(1e300, true), 0x7B);
}

// It is no large number.
TEST(NarrowFloat, NanStaysNanAlsoWhenSaturating) {
  EXPECT_TRUE(std::isnan(f16_to_f32(to_f16(kNan))));
  EXPECT_TRUE(std::isnan(bf16_to_f32(to_bf16(std::bit_cast<float>(0x7F800001u)))));
  EXPECT_TRUE(std::isnan(f8e4m3_to_f32(to_f8e4m3(kNan))));
  EXPECT_TRUE(std::isnan(f8e5m2_to_f32(to_f8e5m2(-kNan, true))));
}

// Tables are made at compile time.
TEST(NarrowFloat, IsUsableInConstantExpressions) {
  static_assert(f16_to_f32(0x3C00) == 1.0f);
  static_assert(f16_to_f32(1) == 0x1p-24f);
  static_assert(to_f16(0x1p-25) == 0);
  static_assert(to_bf16(1.0f) == 0x3F80);
  static_assert(to_f8e4m3(448.0f) == 0x7E);
  static_assert(round_to_int<int32_t>(2.5f) == 2);
}

// Of zeros and NaN.
TEST(RoundEven, KeepsSignsAndSpecialValues) {
  EXPECT_EQ(round_even(0.5f), 0.0f);
  EXPECT_EQ(round_even(1.5f), 2.0f);
  EXPECT_EQ(round_even(-2.5f), -2.0f);
  // The largest f32 below 1/2: adding 1/2 and truncating would round it up to 1.
  EXPECT_EQ(round_even(0.49999997f), 0.0f);
  EXPECT_EQ(round_even(8388607.5f), 8388608.0f);
  EXPECT_EQ(round_even(-1e30f), -1e30f);
  EXPECT_TRUE(std::signbit(round_even(-0.25f)));
  EXPECT_TRUE(std::signbit(round_even(-0.0)));
  EXPECT_FALSE(std::signbit(round_even(0.0f)));
  EXPECT_EQ(round_even(kInf), kInf);
  EXPECT_TRUE(std::isnan(round_even(kNan)));
  for (int eighths = -160; eighths <= 160; ++eighths) {
    const double x = eighths / 8.0;
    EXPECT_EQ(round_even(x), std::nearbyint(x)) << x;
    EXPECT_EQ(round_even(static_cast<float>(x)), std::nearbyint(static_cast<float>(x))) << x;
  }
}

// Where C++ is undefined.
TEST(IntegerConversion, CastTruncatesThenClamps) {
  EXPECT_EQ(cast_to_int<int8_t>(-1.9f), -1);
  EXPECT_EQ(cast_to_int<int8_t>(127.9), 127);
  EXPECT_EQ(cast_to_int<int8_t>(-1000.0f), -128);
  EXPECT_EQ(cast_to_int<uint8_t>(-0.9f), 0);
  EXPECT_EQ(cast_to_int<uint8_t>(-kInf), 0);
  EXPECT_EQ(cast_to_int<uint8_t>(256.0f), 255);
  EXPECT_EQ(cast_to_int<int32_t>(2147483648.0f), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(cast_to_int<int32_t>(-2147483648.5), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(cast_to_int<uint64_t>(kInf), std::numeric_limits<uint64_t>::max());
  // The largest f32 below 2^64: inside the range, but past that of a signed conversion.
  EXPECT_EQ(cast_to_int<uint64_t>(0x1.fffffep63f), 0xFFFFFF0000000000u);
  EXPECT_EQ(cast_to_int<int64_t>(kNan), 0);
}

// Packed types keep low bits.
TEST(IntegerConversion, CastToFourBitsWraps) {
  EXPECT_EQ(cast_to_i4(7.9f), 7);
  // A cast to i4 keeps the low 4 bits, as casts to packed types do; it does not saturate.
  EXPECT_EQ(cast_to_i4(8.0f), -8);
  EXPECT_EQ(cast_to_i4(-9.0f), 7);
  EXPECT_EQ(cast_to_i4(kNan), 0);
  EXPECT_EQ(cast_to_u4(17.5f), 1);
  EXPECT_EQ(cast_to_u4(-1.0), 15);
}

// After rounding.
TEST(IntegerConversion, RoundToRangeClampsBothEnds) {
  EXPECT_EQ(round_to_range(7.5f, -8, 7), 7);
  EXPECT_EQ(round_to_range(-kInf, -8, 7), -8);
  // 3e9 is past int32: the conversion inside must saturate before the range does.
  EXPECT_EQ(round_to_range(3e9f, -127, 127), 127);
  EXPECT_EQ(round_to_range(2.5f, 0, 15), 2);
  EXPECT_EQ(round_to_range(kNan, -8, 7), 0);
}

// All dtypes, odd addresses.
TEST(Rows, EveryPlainTypeWidensAndEveryFloatNarrows) {
  // At most 3 significant bits and magnitudes from 1.5 to 96: exact even in f8e5m2. 7 elements, so
  // that a vectorised loop has a tail.
  const std::vector<float> values = {0.0f, -1.5f, 2.0f, 96.0f, -3.0f, 1.75f, 4.0f};
  const auto n = static_cast<int64_t>(values.size());
  for (DType dtype :
       {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    std::vector<std::byte> bytes(values.size() *
                                 static_cast<size_t>(dtype_info(dtype).block_bytes));
    narrow_row(dtype, values.data(), bytes.data(), n);
    std::vector<float> back(values.size());
    widen_row(dtype, bytes.data(), back.data(), n);
    EXPECT_EQ(back, values) << dtype_name(dtype);
  }
  const int16_t shorts[] = {-32768, 5, 32767};
  float out[3];
  widen_row(DType::kI16, reinterpret_cast<const std::byte*>(shorts), out, 3);
  EXPECT_EQ(out[0], -32768.0f);
  EXPECT_EQ(out[2], 32767.0f);
  EXPECT_FALSE(can_widen(DType::kI4));
  EXPECT_FALSE(can_widen(DType::kB1));
  EXPECT_FALSE(can_widen(DType::kComplex64));
  EXPECT_FALSE(can_widen(DType::kQ8_0));
}

// Values that two roundings move.
TEST(Rows, DoublesNarrowWithOneRounding) {
  // 1 + 2^-11 is the midpoint of two f16; a step above it that f32 cannot hold decides.
  const double row[] = {1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40};
  uint16_t codes[2];
  narrow_row(DType::kF16, row, reinterpret_cast<std::byte*>(codes), 2);
  EXPECT_EQ(codes[0], 0x3C00);
  EXPECT_EQ(codes[1], 0x3C01);
}

class ConversionGolden : public testing::Test {
 protected:
  void SetUp() override {
    auto archive = test::read_npz(QUERN_SUITES_DIR "/strict_golden/conversions.npz");
    if (!archive) GTEST_SKIP() << "No golden data: " << archive.error().message;
    arrays_ = *std::move(archive);
  }

  // Compares convert(input) with the array; NaNs are told apart by is_nan on both sides.
  template <class Code, class Convert, class IsNan>
  void expect_codes(const char* name, Convert convert, IsNan is_nan) {
    const auto x = arrays_.at("x").as<float>();
    const auto expected = arrays_.at(name).as<Code>();
    ASSERT_EQ(x.size(), expected.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const Code code = convert(x[i]);
      if (is_nan(expected[i]) && is_nan(code)) continue;
      EXPECT_EQ(code, expected[i]) << name << " of " << x[i];
    }
  }

  template <class Int>
  void expect_rounded(const char* name) {
    const auto x = arrays_.at("int_x").as<float>();
    const auto expected = arrays_.at(name).as<Int>();
    ASSERT_EQ(x.size(), expected.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(round_to_int<Int>(x[i]), expected[i]) << name << " of " << x[i];
    }
  }

  test::NpzArchive arrays_;
};

// numpy and ml_dtypes.
TEST_F(ConversionGolden, NarrowFloats) {
  expect_codes<uint16_t>(
      "f16", [](float x) { return to_f16(x); },
      [](uint16_t c) { return std::isnan(f16_to_f32(c)); });
  expect_codes<uint16_t>(
      "bf16", [](float x) { return to_bf16(x); },
      [](uint16_t c) { return std::isnan(bf16_to_f32(c)); });
  expect_codes<uint8_t>(
      "f8e4m3", [](float x) { return to_f8e4m3(x); },
      [](uint8_t c) { return std::isnan(f8e4m3_to_f32(c)); });
  expect_codes<uint8_t>(
      "f8e5m2", [](float x) { return to_f8e5m2(x); },
      [](uint8_t c) { return std::isnan(f8e5m2_to_f32(c)); });
}

// All 256 codes.
TEST_F(ConversionGolden, EightBitFloatTables) {
  const auto e4m3 = arrays_.at("f8e4m3_to_f32").as<float>();
  const auto e5m2 = arrays_.at("f8e5m2_to_f32").as<float>();
  ASSERT_EQ(e4m3.size(), 256u);
  ASSERT_EQ(e5m2.size(), 256u);
  const auto is_same = [](float a, float b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
           (std::isnan(a) && std::isnan(b));
  };
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_TRUE(is_same(f8e4m3_to_f32(static_cast<uint8_t>(i)), e4m3[i])) << i;
    EXPECT_TRUE(is_same(f8e5m2_to_f32(static_cast<uint8_t>(i)), e5m2[i])) << i;
  }
}

// Ties of both signs.
TEST_F(ConversionGolden, RoundingToIntegers) {
  expect_rounded<int8_t>("to_i8");
  expect_rounded<uint8_t>("to_u8");
  expect_rounded<int16_t>("to_i16");
  expect_rounded<int32_t>("to_i32");
  expect_rounded<uint32_t>("to_u32");
  expect_rounded<int64_t>("to_i64");
  expect_rounded<uint64_t>("to_u64");
}

// Above 2^24.
TEST_F(ConversionGolden, IntegersToFloat) {
  const auto expected = arrays_.at("from_int_f32").as<float>();
  std::vector<float> out(expected.size());
  widen_row(DType::kI64, arrays_.at("from_int").bytes.data(), out.data(),
            static_cast<int64_t>(out.size()));
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace quern
