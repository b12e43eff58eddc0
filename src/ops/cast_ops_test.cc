// math.cast between all kinds of dtypes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/tensor_type.h"
#include "support/bit_equal.h"
#include "support/npz_reader.h"
#include "support/op_runner.h"
#include "tensor/convert.h"

namespace quern::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

// The names are those of the attributes `to` and `saturate`.
Tensor cast(const Tensor& x, const char* to, const char* saturate = "auto") {
  return run_one("math.cast", {x}, {{"to", std::string(to)}, {"saturate", std::string(saturate)}});
}

template <class T>
std::vector<T> cast_f64(std::vector<double> x, const char* to, const char* saturate = "auto") {
  const auto n = static_cast<int64_t>(x.size());
  return values_of<T>(cast(f64(Shape{n}, x), to, saturate));
}

// The packed bytes of i4, u4 and b1.
// As they lie in memory, since no C++ type has these widths.
std::vector<int> packed(std::vector<double> x, const char* to) {
  const auto n = static_cast<int64_t>(x.size());
  const Tensor y = cast(f64(Shape{n}, x), to);
  std::vector<int> bytes;
  const auto view = y.host_view();
  for (const std::byte b : *view) bytes.push_back(int(b));
  return bytes;
}

Tensor from_packed(DType dtype, const Shape& shape, std::vector<std::byte> bytes) {
  return Tensor::from_bytes(dtype, shape, bytes).value();
}

// Bits of numpy and ml_dtypes.
// `x` holds the f32 inputs, and an array named after each narrow type the expected codes.
TEST(Cast, GoldenNarrowFloats) {
  const auto suite = read_npz(std::string(QUERN_SUITES_DIR) + "/strict_golden/conversions.npz");
  if (!suite) GTEST_SKIP() << suite.error().message;
  const auto x = suite->at("x").as<float>();
  const Tensor input = f32(Shape{static_cast<int64_t>(x.size())}, x);
  // `zero` carries the type of the codes. Both codes are widened: NaN may have any payload.
  const auto expect = [&](const char* dtype, auto widen, auto zero) {
    using Code = decltype(zero);
    const auto actual = values_of<Code>(cast(input, dtype));
    const auto expected = suite->at(dtype).as<Code>();
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_TRUE(same_bits(widen(actual[i]), widen(expected[i]))) << dtype << " of " << x[i];
    }
  };
  expect("f16", f16_to_f32, uint16_t{});
  expect("bf16", bf16_to_f32, uint16_t{});
  expect("f8e4m3", f8e4m3_to_f32, uint8_t{});
  expect("f8e5m2", f8e5m2_to_f32, uint8_t{});
}

// Where C++ leaves the conversion undefined.
TEST(Cast, FloatToIntegerTruncatesAndClamps) {
  // Each value just inside and just outside the range: truncation pulls 127.9 and -128.9 inside.
  EXPECT_EQ(cast_f64<int8_t>({2.9, -2.9, 127.9, 128, -128.9, -129, kInf, -kInf, kNaN, -0.0}, "i8"),
            (std::vector<int8_t>{2, -2, 127, 127, -128, -128, 127, -128, 0, 0}));
  // 1.8446744073709552e19 is 2^64, the first number that does not fit; 2^53 + 1 is no f64 and reads
  // as 2^53.
  EXPECT_EQ(cast_f64<uint64_t>({-1, 1.8446744073709552e19, 9007199254740993.0}, "u64"),
            (std::vector<uint64_t>{0, ~uint64_t{0}, 9007199254740992u}));
  EXPECT_EQ(cast_f64<int64_t>({-9.3e18, 9.3e18}, "i64"),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<int64_t>::max()}));
}

// Packed integers keep their low bits.
TEST(Cast, FourBitsWrap) {
  // 7 and 8 -> nibbles 7 and 8; -1 and 17.9 -> 15 and 17 mod 16 = 1. The first of a pair is low.
  EXPECT_EQ(packed({7, 8, -1, 17.9}, "i4"), (std::vector<int>{0x87, 0x1f}));
  const std::vector<std::byte> bytes = {std::byte{0x87}, std::byte{0x1f}};
  const Tensor back = cast(from_packed(DType::kI4, Shape{4}, bytes), "i32");
  // 8 reads back as -8, since i4 ends at 7: a wrap, not a clamp.
  EXPECT_EQ(values_of<int32_t>(back), (std::vector<int32_t>{7, -8, -1, 1}));
  const Tensor unsigned_back = cast(from_packed(DType::kU4, Shape{4}, bytes), "f32");
  EXPECT_EQ(values_of<float>(unsigned_back), (std::vector<float>{7, 8, 15, 1}));
}

// NaN is not zero either.
TEST(Cast, BitsAreNotZero) {
  // Element i is bit i: the third to the sixth are set; -0.0 is zero, NaN and 0.1 are not.
  EXPECT_EQ(packed({0, -0.0, 1, kNaN, -3, 0.1, 0, 0}, "b1"), (std::vector<int>{0b00111100}));
  const Tensor bits = from_packed(DType::kB1, Shape{8}, {std::byte{0b00111100}});
  EXPECT_EQ(values_of<float>(cast(bits, "f32")), (std::vector<float>{0, 0, 1, 1, 1, 1, 0, 0}));
}

// To floats there is one rounding, also from 64 bits.
TEST(Cast, IntegersWrapOrRoundOnce) {
  // 2^40 + 300 mod 256 is 44, -1 is 255.
  const int64_t wide = (int64_t{1} << 40) + 300;
  const Tensor x = tensor_of<int64_t>(DType::kI64, Shape{2}, {wide, -1});
  EXPECT_EQ(values_of<uint8_t>(cast(x, "u8")), (std::vector<uint8_t>{44, 255}));

  // A tie of bf16 and one more: a step over f64 would lose the one and round to even below.
  // bf16 keeps 8 bits: near 2^62 its step is 2^55, so that 2^54 is half a step. tie + 1 must go up,
  // but f64 cannot hold the 1 (its step there is 2^10).
  const int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);
  const Tensor ties = tensor_of<int64_t>(DType::kI64, Shape{3}, {tie, tie + 1, -tie - 1});
  const auto bf16 = values_of<uint16_t>(cast(ties, "bf16"));
  EXPECT_EQ(bf16_to_f32(bf16[0]), 0x1p62f);
  EXPECT_EQ(bf16_to_f32(bf16[1]), 0x1.02p62f);
  EXPECT_EQ(bf16_to_f32(bf16[2]), -0x1.02p62f);
  // 2^64 - 1 rounds to 2^64 in both, and past the largest f16, 65,504, to infinity.
  const Tensor largest = tensor_of<uint64_t>(DType::kU64, Shape{1}, {~uint64_t{0}});
  EXPECT_EQ(values_of<float>(cast(largest, "f32")), (std::vector<float>{0x1p64f}));
  EXPECT_EQ(values_of<double>(cast(largest, "f64")), (std::vector<double>{0x1p64}));
  EXPECT_TRUE(std::isinf(f16_to_f32(values_of<uint16_t>(cast(largest, "f16")).at(0))));
}

// Midpoints of large integers go to even.
TEST(Cast, GoldenIntegersToF32) {
  const auto suite = read_npz(std::string(QUERN_SUITES_DIR) + "/strict_golden/conversions.npz");
  if (!suite) GTEST_SKIP() << suite.error().message;
  const auto x = suite->at("from_int").as<int64_t>();
  const Tensor y = cast(tensor_of(DType::kI64, Shape{static_cast<int64_t>(x.size())}, x), "f32");
  EXPECT_TRUE(all_same_bits(values_of<float>(y), suite->at("from_int_f32").as<float>()));
}

// Through f32 they would round twice.
TEST(Cast, NarrowFloatsRoundOnceFromF64) {
  // Rounding to f32 first would land on the tie 1 + 2^-11 and then on 1.
  // f32 has 23 bits behind the point: 2^-40 is lost, and 1 + 2^-11 is the tie between 1 and 1 +
  // 2^-10.
  const auto f16 = cast_f64<uint16_t>({1 + 0x1p-11 + 0x1p-40}, "f16");
  EXPECT_EQ(f16_to_f32(f16.at(0)), 1 + 0x1p-10f);
}

// Each format has its own default.
TEST(Cast, SaturateDecidesTheOverflowOfF8) {
  const auto e4m3 = [](const char* saturate) {
    return f8e4m3_to_f32(cast_f64<uint8_t>({1e6}, "f8e4m3", saturate).at(0));
  };
  const auto e5m2 = [](const char* saturate) {
    return f8e5m2_to_f32(cast_f64<uint8_t>({-kInf}, "f8e5m2", saturate).at(0));
  };
  // 448 is the largest e4m3, 57,344 the largest finite e5m2; e4m3 has no infinity.
  EXPECT_EQ(e4m3("auto"), 448.0f);
  EXPECT_EQ(e4m3("true"), 448.0f);
  EXPECT_TRUE(std::isnan(e4m3("false")));
  EXPECT_EQ(e5m2("auto"), -kInf);
  EXPECT_EQ(e5m2("true"), -57344.0f);
  EXPECT_EQ(e5m2("false"), -kInf);
}

// Through f32, which both sides know.
// -31 .. 32 in two blocks of q8_0: the step is at most 32 / 127, half of it 0.126.
TEST(Cast, BlockFormatsDecodeAndEncode) {
  std::vector<float> x(64);
  for (size_t i = 0; i < 64; ++i) x[i] = float(i) - 31;
  const Tensor q = cast(f32(Shape{2, 32}, x), "q8_0");
  EXPECT_EQ(q.dtype(), DType::kQ8_0);
  const auto back = values_of<float>(cast(q, "f32"));
  for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(back[i], x[i], 0.13f);
  // A row of 31 would end inside a block.
  EXPECT_FALSE(run_op("math.cast", {f32(Shape{2, 31}, std::vector<float>(62))},
                      {{"to", std::string("q8_0")}}));
}

// Elements at the seam of two chunks are neither lost nor doubled.
TEST(Cast, ChunksMeet) {
  // 10,001 = 2 * 4096 + 1809: two full chunks and an odd rest.
  std::vector<float> x(10001);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 100);
  const auto y = values_of<int8_t>(cast(f32(Shape{10001}, x), "i8"));
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], int8_t(i % 100));
  EXPECT_EQ(cast(f32(Shape{0}, {}), "i8").shape(), (Shape{0}));
}

// Rows of packed types are whole blocks.
TEST(Cast, RefusesUnknownNamesAndOddRows) {
  // A 3 is no multiple of the 2 elements in a byte of i4.
  const TensorType x = parse_tensor_type("f32[T, 3]").value();
  EXPECT_FALSE(infer_op("math.cast", {x}, {{"to", std::string("f33")}}));
  EXPECT_FALSE(infer_op("math.cast", {x}, {{"to", std::string("i4")}}));
  EXPECT_FALSE(infer_op("math.cast", {x}, {{"to", std::string("complex64")}}));
  EXPECT_EQ(infer_op("math.cast", {x}, {{"to", std::string("f16")}})->front().to_string(),
            "f16[T, 3]");
}

}  // namespace
}  // namespace quern::test
