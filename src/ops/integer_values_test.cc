// Integers and bits: every pair of 8-bit numbers, wrapping, shifts, comparisons, casts between all
// dtypes, quantisation, population counts, tables of embeddings.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "support/bit_equal.h"
#include "support/op_values.h"
#include "tensor/convert.h"

namespace quern::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// All 65,536 pairs of an 8-bit type.
// Element 256 i + j is (i, j): every operand meets every other, so no corner can be missed.
template <class T>
struct Pairs {
  std::vector<T> a, b;
  Pairs() {
    for (int i = 0; i < 256; ++i) {
      for (int j = 0; j < 256; ++j) {
        a.push_back(static_cast<T>(i));
        b.push_back(static_cast<T>(j));
      }
    }
  }
};

template <class T>
using Formula = std::function<int(int, int)>;

// `formula` works in int; its result wraps to T.
// int holds every result of two bytes exactly; the cast to T is the wrap.
template <class T>
void expect_pairs(DType dtype, std::string_view id, const Formula<T>& formula,
                  const Attributes& attributes = {}) {
  static const Pairs<T> pairs;
  const Shape shape{65536};
  const Tensor z = run_one(
      id, {tensor_of<T>(dtype, shape, pairs.a), tensor_of<T>(dtype, shape, pairs.b)}, attributes);
  const auto values = values_of<T>(z);
  ASSERT_EQ(values.size(), pairs.a.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto expected = static_cast<T>(formula(pairs.a[i], pairs.b[i]));
    ASSERT_EQ(values[i], expected) << id << " of " << int{pairs.a[i]} << ", " << int{pairs.b[i]};
  }
}

// Python's remainder: the sign is the divisor's.
int floor_mod(int a, int b) {
  const int r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

template <class T>
void expect_arithmetic(DType dtype) {
  expect_pairs<T>(dtype, "math.add", [](int a, int b) { return a + b; });
  expect_pairs<T>(dtype, "elementwise.sub", [](int a, int b) { return a - b; });
  expect_pairs<T>(dtype, "math.mul", [](int a, int b) { return a * b; });
  expect_pairs<T>(dtype, "elementwise.max", [](int a, int b) { return std::max(a, b); });
  expect_pairs<T>(dtype, "elementwise.min", [](int a, int b) { return std::min(a, b); });
  expect_pairs<T>(dtype, "elementwise.quotient", [](int a, int b) { return b == 0 ? 0 : a / b; });
  expect_pairs<T>(dtype, "elementwise.remainder", [](int a, int b) { return b == 0 ? 0 : a % b; });
  expect_pairs<T>(dtype, "elementwise.remainder",
                  [](int a, int b) { return b == 0 ? 0 : floor_mod(a, b); },
                  {{"sign", std::string("divisor")}});
  expect_pairs<T>(dtype, "bits.and", [](int a, int b) { return a & b; });
  expect_pairs<T>(dtype, "bits.or", [](int a, int b) { return a | b; });
  expect_pairs<T>(dtype, "bits.xor", [](int a, int b) { return a ^ b; });
  // A negative count is a huge one.
  expect_pairs<T>(dtype, "bits.shift_left",
                  [](int a, int b) { return b < 0 || b >= 8 ? 0 : a << b; });
  expect_pairs<T>(dtype, "bits.shift_right",
                  [](int a, int b) { return b < 0 || b >= 8 ? (a < 0 ? -1 : 0) : a >> b; });
}

// All 65,536 pairs, modulo 256.
TEST(ByteArithmetic, SignedPairs) {
  expect_arithmetic<int8_t>(DType::kI8);
}
// All 65,536 pairs, modulo 256.
TEST(ByteArithmetic, UnsignedPairs) {
  expect_arithmetic<uint8_t>(DType::kU8);
}

// Exactly 0 and 1.
TEST(ByteArithmetic, ComparisonsGiveMasks) {
  static const Pairs<int8_t> pairs;
  const Tensor a = tensor_of(DType::kI8, Shape{65536}, pairs.a),
               b = tensor_of(DType::kI8, Shape{65536}, pairs.b);
  const auto equal = values_of<uint8_t>(run_one("compare.equal", {a, b}));
  const auto less = values_of<uint8_t>(run_one("compare.less", {a, b}));
  const auto at_most = values_of<uint8_t>(run_one("compare.less_or_equal", {a, b}));
  for (size_t i = 0; i < 65536; ++i) {
    ASSERT_EQ(equal[i], pairs.a[i] == pairs.b[i]);
    ASSERT_EQ(less[i], pairs.a[i] < pairs.b[i]);
    ASSERT_EQ(at_most[i], pairs.a[i] <= pairs.b[i]);
  }
}

// The largest and smallest numbers of each width.
TEST(WideArithmetic, WrapsAtTheEnds) {
  const auto i64 = [](std::vector<int64_t> v) {
    const auto n = static_cast<int64_t>(v.size());
    return tensor_of(DType::kI64, Shape{n}, v);
  };
  // Two corners a call: one operand overflows upwards, the other downwards.
  const auto run = [&](const char* id, std::vector<int64_t> a, std::vector<int64_t> b) {
    return values_of<int64_t>(run_one(id, {i64(std::move(a)), i64(std::move(b))}));
  };
  EXPECT_EQ(run("math.add", {INT64_MAX, INT64_MIN}, {1, -1}),
            (std::vector<int64_t>{INT64_MIN, INT64_MAX}));
  EXPECT_EQ(run("elementwise.sub", {INT64_MIN, 0}, {1, INT64_MIN}),
            (std::vector<int64_t>{INT64_MAX, INT64_MIN}));
  EXPECT_EQ(run("math.mul", {INT64_MAX, INT64_MIN}, {2, -1}),
            (std::vector<int64_t>{-2, INT64_MIN}));
  EXPECT_EQ(run("elementwise.quotient", {INT64_MIN, INT64_MIN, 7}, {-1, 2, 0}),
            (std::vector<int64_t>{INT64_MIN, INT64_MIN / 2, 0}));
  EXPECT_EQ(run("elementwise.remainder", {INT64_MIN, INT64_MIN, 7}, {-1, 3, 0}),
            (std::vector<int64_t>{0, INT64_MIN % 3, 0}));
  // A count of 64, and a negative one, are past the width.
  EXPECT_EQ(run("bits.shift_left", {1, 1, 1, -1}, {63, 64, -1, 63}),
            (std::vector<int64_t>{INT64_MIN, 0, 0, INT64_MIN}));
  EXPECT_EQ(run("bits.shift_right", {INT64_MIN, INT64_MIN, INT64_MAX, -1}, {63, 64, 62, INT64_MAX}),
            (std::vector<int64_t>{-1, -1, 1, -1}));
  EXPECT_EQ(values_of<int64_t>(run_one("elementwise.abs", {i64({INT64_MIN, -3})})),
            (std::vector<int64_t>{INT64_MIN, 3}));
  EXPECT_EQ(values_of<int64_t>(run_one("math.sign", {i64({INT64_MIN, 0, 9})})),
            (std::vector<int64_t>{-1, 0, 1}));
  const Tensor u = tensor_of<uint64_t>(DType::kU64, Shape{2}, {UINT64_MAX, 1});
  EXPECT_EQ(values_of<uint8_t>(run_one(
                "compare.less", {u, tensor_of<uint64_t>(DType::kU64, Shape{2}, {1, UINT64_MAX})})),
            (std::vector<uint8_t>{0, 1}));
}

// fmod has no rounding, whatever the quotient.
// The remainder of two doubles is a double, even where the quotient has hundreds of digits (1e300 /
// 3).
TEST(Remainders, OfFloatsAreExact) {
  const auto run = [](std::vector<double> a, std::vector<double> b, const char* sign) {
    const auto n = static_cast<int64_t>(a.size());
    return run_f64("elementwise.remainder",
                   {f64(Shape{n}, std::move(a)), f64(Shape{n}, std::move(b))},
                   {{"sign", std::string(sign)}});
  };
  EXPECT_TRUE(all_same_bits(run({5.5, -5.5, 5.5, 1e300, 1, 0}, {2, 2, -2, 3, kInf, 5}, "dividend"),
                            {1.5, -1.5, 1.5, std::fmod(1e300, 3), 1, 0}));
  // -1 mod infinity is -1 + infinity for the sign of the divisor, as in Python.
  EXPECT_TRUE(all_same_bits(run({5.5, -5.5, 5.5, -1}, {2, 2, -2, kInf}, "divisor"),
                            {1.5, 0.5, -0.5, kInf}));
  // A zero has the sign, too: of the dividend as fmod's, of the divisor as numpy.remainder's.
  const std::vector<double> a = {-3, 3, -3, 3, -0.0, 0.0, -0.0}, b = {3, -3, -3, 3, 2, -2, kInf};
  EXPECT_TRUE(all_same_bits(run(a, b, "dividend"), {-0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0}));
  EXPECT_TRUE(all_same_bits(run(a, b, "divisor"), {0.0, -0.0, -0.0, 0.0, 0.0, -0.0, 0.0}));
  for (const double v : run({1, kInf, kNaN, 1}, {0, 2, 2, kNaN}, "divisor")) {
    EXPECT_TRUE(std::isnan(v));
  }
}

// Not even itself.
TEST(Comparisons, NaNIsEqualToNothing) {
  const Tensor a = f64(Shape{5}, {kNaN, kNaN, 0.0, -kInf, kInf}),
               b = f64(Shape{5}, {kNaN, 1, -0.0, kInf, kInf});
  EXPECT_EQ(values_of<uint8_t>(run_one("compare.equal", {a, b})),
            (std::vector<uint8_t>{0, 0, 1, 0, 1}));
  EXPECT_EQ(values_of<uint8_t>(run_one("compare.less", {a, b})),
            (std::vector<uint8_t>{0, 0, 0, 1, 0}));
  EXPECT_EQ(values_of<uint8_t>(run_one("compare.less_or_equal", {a, b})),
            (std::vector<uint8_t>{0, 0, 1, 1, 1}));
}

// Casts -------------------------------------------------------------------------------------------

Tensor cast(const Tensor& x, std::string_view to) {
  return run_one("math.cast", {x}, {{"to", std::string(to)}});
}

// A cast between float types is one rounding: through f64 and back nothing is lost.
TEST(CastValues, EveryNarrowFloatSurvivesAWiderOne) {
  for (const auto& [dtype, name] :
       {std::pair{DType::kF16, "f16"}, std::pair{DType::kBF16, "bf16"}}) {
    std::vector<uint16_t> bits(65536);
    // All bit patterns of a 16-bit type; NaN is left out, since its payload may change.
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
    const Tensor x = tensor_of(dtype, Shape{65536}, bits);
    for (const char* wider : {"f32", "f64"}) {
      const auto back = values_of<uint16_t>(cast(cast(x, wider), name));
      const auto wide = values_of<double>(cast(x, "f64"));
      for (size_t i = 0; i < bits.size(); ++i) {
        if (std::isnan(wide[i])) continue;
        ASSERT_EQ(back[i], bits[i]) << name << " through " << wider;
      }
    }
  }
}

// f16 holds all of both formats.
TEST(CastValues, EveryByteOfF8SurvivesF16) {
  for (const auto& [dtype, name] :
       {std::pair{DType::kF8E4M3, "f8e4m3"}, std::pair{DType::kF8E5M2, "f8e5m2"}}) {
    std::vector<uint8_t> bits(256);
    // f16 has more exponent and fraction than either f8; e4m3 has no infinity to come back to.
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint8_t>(i);
    const Tensor x = tensor_of(dtype, Shape{256}, bits);
    const auto wide = values_of<double>(cast(x, "f64"));
    const Tensor through = cast(cast(x, "f16"), name);
    const auto back = values_of<uint8_t>(through);
    for (size_t i = 0; i < bits.size(); ++i) {
      const bool saturates = dtype == DType::kF8E4M3 && std::isinf(wide[i]);
      if (std::isnan(wide[i]) || saturates) continue;
      ASSERT_EQ(back[i], bits[i]) << name;
    }
  }
}

// What each integer type makes of these floats: truncated, clamped, NaN 0.
TEST(CastValues, FloatsToIntegersTruncateAndClamp) {
  // Halves, both signs, a value past i8 and one past i16, one past 64 bits, an infinity and NaN.
  const Tensor x = f64(Shape{9}, {0.9, -0.9, 2.5, -2.5, 300.7, -40000.2, 1e20, -kInf, kNaN});
  EXPECT_EQ(values_of<int8_t>(cast(x, "i8")),
            (std::vector<int8_t>{0, 0, 2, -2, 127, -128, 127, -128, 0}));
  EXPECT_EQ(values_of<uint8_t>(cast(x, "u8")),
            (std::vector<uint8_t>{0, 0, 2, 0, 255, 0, 255, 0, 0}));
  EXPECT_EQ(values_of<int16_t>(cast(x, "i16")),
            (std::vector<int16_t>{0, 0, 2, -2, 300, -32768, 32767, -32768, 0}));
  EXPECT_EQ(values_of<uint16_t>(cast(x, "u16")),
            (std::vector<uint16_t>{0, 0, 2, 0, 300, 0, 65535, 0, 0}));
  EXPECT_EQ(values_of<int32_t>(cast(x, "i32")),
            (std::vector<int32_t>{0, 0, 2, -2, 300, -40000, INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ(values_of<uint32_t>(cast(x, "u32")),
            (std::vector<uint32_t>{0, 0, 2, 0, 300, 0, UINT32_MAX, 0, 0}));
  EXPECT_EQ(values_of<int64_t>(cast(x, "i64")),
            (std::vector<int64_t>{0, 0, 2, -2, 300, -40000, INT64_MAX, INT64_MIN, 0}));
  EXPECT_EQ(values_of<uint64_t>(cast(x, "u64")),
            (std::vector<uint64_t>{0, 0, 2, 0, 300, 0, UINT64_MAX, 0, 0}));
}

// Integers wrap to narrower ones, whatever their signs.
TEST(CastValues, IntegersWrap) {
  // 300 mod 256, all ones, the lowest i64, bytes that differ, and the first number past i8.
  const Tensor x =
      tensor_of<int64_t>(DType::kI64, Shape{5}, {300, -1, INT64_MIN, 0x1234567890, 128});
  EXPECT_EQ(values_of<uint8_t>(cast(x, "u8")), (std::vector<uint8_t>{44, 255, 0, 0x90, 128}));
  EXPECT_EQ(values_of<int8_t>(cast(x, "i8")), (std::vector<int8_t>{44, -1, 0, -112, -128}));
  EXPECT_EQ(values_of<uint32_t>(cast(x, "u32")),
            (std::vector<uint32_t>{300, UINT32_MAX, 0, 0x34567890, 128}));
  EXPECT_EQ(values_of<uint64_t>(cast(x, "u64")),
            (std::vector<uint64_t>{300, UINT64_MAX, uint64_t{1} << 63, 0x1234567890, 128}));
  const Tensor u = tensor_of<uint64_t>(DType::kU64, Shape{2}, {UINT64_MAX, uint64_t{1} << 63});
  EXPECT_EQ(values_of<int64_t>(cast(u, "i64")), (std::vector<int64_t>{-1, INT64_MIN}));
}

// 2^53 + 1 and 2^24 + 1 are ties: to even. 2^63 + 1 has no neighbour but 2^63.
TEST(CastValues, IntegersRoundOnceToFloats) {
  const Tensor x = tensor_of<int64_t>(
      DType::kI64, Shape{4}, {(int64_t{1} << 53) + 1, (int64_t{1} << 53) + 3, 16777217, INT64_MAX});
  EXPECT_EQ(values_of<double>(cast(x, "f64")),
            (std::vector<double>{0x1p53, 0x1p53 + 4, 16777217, 0x1p63}));
  EXPECT_EQ(values_of<float>(cast(x, "f32")),
            (std::vector<float>{0x1p53f, 0x1p53f, 16777216, 0x1p63f}));
  // 2^24 + 1 + 2^-something would round up twice through f64: 2^55 + 2^31 + 1 is above the tie.
  const Tensor tie =
      tensor_of<int64_t>(DType::kI64, Shape{1}, {(int64_t{1} << 55) + (int64_t{1} << 31) + 1});
  EXPECT_EQ(values_of<float>(cast(tie, "f32")).at(0), 0x1p55f + 0x1p32f);
  // 65,520 is half a step past the largest f16, 65,504: a tie that goes to the even side, infinity.
  EXPECT_EQ(
      values_of<uint16_t>(cast(tensor_of<int32_t>(DType::kI32, Shape{2}, {65519, 65520}), "f16")),
      (std::vector<uint16_t>{0x7BFF, 0x7C00}));
}

// Lowest bit and low nibble first.
TEST(CastValues, PackedBitsAndNibbles) {
  const Tensor x = f64(Shape{8}, {0, 1, -1, kNaN, 0.25, -0.0, kInf, 0});
  // NaN is not zero, -0 is; bit 0 is the first element.
  EXPECT_EQ(*cast(x, "b1").read(), std::vector<std::byte>{std::byte{0b01011110}});
  EXPECT_EQ(values_of<double>(cast(cast(x, "b1"), "f64")),
            (std::vector<double>{0, 1, 1, 1, 1, 0, 1, 0}));
  const Tensor n = tensor_of<int32_t>(DType::kI32, Shape{6}, {7, -8, 8, -9, 15, 16});
  EXPECT_EQ(values_of<int32_t>(cast(cast(n, "i4"), "i32")),
            (std::vector<int32_t>{7, -8, -8, 7, -1, 0}));
  EXPECT_EQ(values_of<int32_t>(cast(cast(n, "u4"), "i32")),
            (std::vector<int32_t>{7, 8, 8, 7, 15, 0}));
}

// Saturate, or the format's infinity or NaN.
TEST(CastValues, OverflowOfF8IsAChoice) {
  // Past 448 on both sides, 448 itself, infinity. In e5m2 500 rounds to 512.
  const Tensor x = f32(Shape{4}, {500, -1e9f, 448, std::numeric_limits<float>::infinity()});
  const auto run = [&](const char* to, const char* saturate) {
    return values_of<double>(cast(
        run_one("math.cast", {x}, {{"to", std::string(to)}, {"saturate", std::string(saturate)}}),
        "f64"));
  };
  EXPECT_EQ(run("f8e4m3", "auto"), (std::vector<double>{448, -448, 448, 448}));
  EXPECT_EQ(run("f8e5m2", "true"), (std::vector<double>{512, -57344, 448, 57344}));
  EXPECT_EQ(run("f8e5m2", "auto"), (std::vector<double>{512, -kInf, 448, kInf}));
  const auto open = run("f8e4m3", "false");
  EXPECT_TRUE(std::isnan(open[0]));
  EXPECT_TRUE(std::isnan(open[1]));
  EXPECT_EQ(open[2], 448);
  EXPECT_TRUE(std::isnan(open[3]));
}

// Quantisation
// -------------------------------------------------------------------------------------

// Inside the range; outside it clamps.
TEST(QuantProperties, ErrorsStayWithinHalfAStep) {
  const Tensor x = normal_f64(Shape{1000}, 1, 20);
  for (const double scale : {0.1, 0.25, 3.0}) {
    for (const int64_t zero_point : {-100, 0, 17}) {
      const Attributes attributes = {{"scale", scale}, {"zero_point", zero_point}};
      const Tensor q = run_one("quant.quant", {x}, attributes);
      const auto back = run_f64("dequant.dequant", {q}, attributes);
      const auto values = values_of<double>(x);
      // The ends of i8 in units of x; beyond them only the clamp counts.
      const double low = scale * static_cast<double>(-128 - zero_point),
                   high = scale * static_cast<double>(127 - zero_point);
      for (size_t i = 0; i < values.size(); ++i) {
        const double clamped = std::clamp(values[i], low, high);
        ASSERT_LE(std::abs(back[i] - clamped), scale / 2 * (1 + 1e-12)) << values[i];
      }
    }
  }
}

// Dequantise, then quantise.
TEST(QuantProperties, EveryByteComesBack) {
  std::vector<int8_t> q(256);
  for (size_t i = 0; i < 256; ++i) q[i] = static_cast<int8_t>(i);
  for (const double scale : {0.007, 1.0, 1000.0}) {
    const Attributes attributes = {{"scale", scale}, {"zero_point", int64_t{-3}}};
    // The quotient of an exact product by its scale may be off by an ulp, which rounding takes
    // away.
    const Tensor x = run_one("dequant.dequant", {tensor_of(DType::kI8, Shape{256}, q)}, attributes);
    EXPECT_EQ(values_of<int8_t>(run_one("quant.quant", {x}, attributes)), q);
  }
}

// Unlike quant.dynamic, which goes to even.
TEST(QuantValues, HalvesGoAwayFromZero) {
  const Tensor x = f64(Shape{8}, {0.5, -0.5, 1.5, -1.5, 2.4999, kNaN, kInf, -kInf});
  EXPECT_EQ(
      values_of<int8_t>(run_one("quant.quant", {x}, {{"scale", 1.0}, {"zero_point", int64_t{10}}})),
      (std::vector<int8_t>{11, 9, 12, 8, 12, 10, 127, -128}));
}

// ggml's order.
TEST(QuantValues, NibblesComeLowFirst) {
  // 0xA3: 3 - 8 = -5, then 10 - 8 = 2; 0x0F: 15 - 8 = 7, then 0 - 8; each times 0.5.
  const Tensor q = tensor_of<uint8_t>(DType::kU8, Shape{1, 2}, {0xA3, 0x0F});
  const Tensor y = run_one("dequant.dequant4", {q}, {{"scale", 0.5}, {"zero_point", int64_t{8}}});
  EXPECT_EQ(y.shape(), (Shape{1, 4}));
  EXPECT_EQ(values_of<double>(y), (std::vector<double>{-2.5, 1, 3.5, -4}));
}

// And no other passes it.
TEST(DynamicQuantProperties, TheLargestReachesTheLimit) {
  for (const auto& [bits, limit] :
       {std::pair<int64_t, int>{8, 127}, std::pair<int64_t, int>{16, 32639}}) {
    const Tensor x = normal_f32(Shape{5, 96}, 2, 10);
    const auto outputs = run_op("quant.dynamic", {x}, {{"bits", bits}});
    ASSERT_TRUE(outputs);
    std::vector<int> q;
    if (bits == 8) {
      for (const int8_t v : values_of<int8_t>((*outputs)[0])) q.push_back(v);
    } else {
      for (const int16_t v : values_of<int16_t>((*outputs)[0])) q.push_back(v);
    }
    const auto d = values_of<float>((*outputs)[1]), values = values_of<float>(x);
    ASSERT_EQ(d.size(), 15u);
    for (size_t block = 0; block < 15; ++block) {
      int largest = 0;
      for (size_t i = block * 32; i < block * 32 + 32; ++i) {
        largest = std::max(largest, std::abs(q[i]));
        const double error = std::abs(double{values[i]} - double{d[block]} * q[i]);
        // Half a step, and the roundings of d and of r.
        EXPECT_LE(error, double{d[block]} * 0.5001);
      }
      EXPECT_EQ(largest, limit);
    }
  }
}

// Scales that cannot be inverted.
TEST(DynamicQuantValues, TinyBlocksAreZeroAndBrokenOnesNaN) {
  std::vector<float> x(96, 0.0f);
  x[0] = 0x1p-101f;  // below 2^-100
  x[40] = 3;
  x[70] = std::numeric_limits<float>::infinity();
  const auto outputs = run_op("quant.dynamic", {f32(Shape{96}, x)});
  const auto d = values_of<float>((*outputs)[1]);
  EXPECT_EQ(d[0], 0.0f);
  EXPECT_EQ(d[1], 3.0f / 127);
  EXPECT_TRUE(std::isnan(d[2]));
  const auto q = values_of<int8_t>((*outputs)[0]);
  EXPECT_EQ(q[0], 0);
  EXPECT_EQ(q[40], 127);
  EXPECT_EQ(q[70], 0);
}

// Bit counts, tables -----------------------------------------------------------------------------

template <class Word>
void expect_counts(std::string_view id, DType dtype) {
  constexpr size_t kBits = 8 * sizeof(Word);
  std::mt19937_64 random(3);
  // Sizes around 16 and 240, where a vectorised count folds its partial sums.
  for (const size_t n : {0u, 1u, 15u, 16u, 17u, 239u, 240u, 241u, 1000u}) {
    std::vector<Word> data(n);
    for (Word& w : data) w = static_cast<Word>(random());
    std::vector<uint64_t> counts(kBits), expected(kBits);
    for (size_t b = 0; b < kBits; ++b) {
      // Counts that exist already are added to, and wrap modulo 2^64.
      counts[b] = b == 0 ? UINT64_MAX : b;  // wraps where a word has bit 0
      expected[b] = counts[b];
      for (const Word w : data) expected[b] += (uint64_t{w} >> b) & 1;
    }
    const Tensor out = run_one(id, {tensor_of(DType::kU64, Shape{int64_t{kBits}}, counts),
                                    tensor_of(dtype, Shape{static_cast<int64_t>(n)}, data)});
    EXPECT_EQ(values_of<uint64_t>(out), expected) << id << " " << n;
  }
}

// Against counting one by one.
TEST(PopulationCounts, CountEachBit) {
  expect_counts<uint8_t>("pospop.count8", DType::kU8);
  expect_counts<uint8_t>("pospop.count_string", DType::kU8);
  expect_counts<uint16_t>("pospop.count16", DType::kU16);
  expect_counts<uint32_t>("pospop.count32", DType::kU32);
  expect_counts<uint64_t>("pospop.count64", DType::kU64);
}

// Empty bags and repeated ids.
TEST(EmbeddingBagValues, SumTheRowsOfEachBag) {
  const Tensor weight = f64(Shape{4, 2}, {1, 10, 2, 20, 3, 30, 4, 40});
  // Bags [0, 2), [2, 2), [2, 3) and [3, 5) of the ids.
  const Tensor ids = i32(Shape{5}, {3, 0, 0, 2, 1});
  const Tensor offsets = i32(Shape{4}, {0, 2, 2, 3});
  const Tensor y = run_one("embedding.bag", {ids, offsets, weight});
  EXPECT_EQ(y.shape(), (Shape{4, 2}));
  EXPECT_EQ(values_of<double>(y), (std::vector<double>{5, 50, 0, 0, 1, 10, 5, 50}));
}

// What and where.
TEST(EmbeddingBagErrors, NameTheOffsetOrTheId) {
  const Tensor weight = f32(Shape{3, 1}, {1, 2, 3}), ids = i32(Shape{2}, {0, 1});
  const auto error = [&](std::vector<int32_t> offsets) {
    const auto n = static_cast<int64_t>(offsets.size());
    return run_error("embedding.bag", {ids, i32(Shape{n}, offsets), weight});
  };
  EXPECT_EQ(error({1, 2}), "Element 0 of 'offsets' is 1; it must be from 0 to 0.");
  EXPECT_EQ(error({0, 3}), "Element 1 of 'offsets' is 3; it must be from 0 to 2.");
  EXPECT_EQ(error({0, 2, 1}), "Element 2 of 'offsets' is 1; it must be from 2 to 2.");
  EXPECT_EQ(error({0, -1}), "Element 1 of 'offsets' is -1; it must be from 0 to 2.");
  EXPECT_EQ(run_error("embedding.bag", {i32(Shape{1}, {3}), i32(Shape{1}, {0}), weight}),
            "The id 3 at position 0 is outside the table of 3 rows.");
  EXPECT_EQ(run_error("embedding.token", {i32(Shape{2}, {0, -1}), weight}),
            "The id -1 at position 1 is outside the table of 3 rows.");
}

// Gathering and scattering must not permute.
TEST(ExpertValues, EachChoiceIsItsExpertsProjection) {
  const Tensor x = normal_f64(Shape{4, 5}, 4), weight = normal_f64(Shape{3, 2, 5}, 5),
               bias = normal_f64(Shape{3, 2}, 6);
  const std::vector<int32_t> chosen = {0, 2, 1, 1, 2, 0, 0, 0};
  // Expert 0 has four choices, among them two of one token.
  const auto y = run_f64("experts.linear", {x, weight, i32(Shape{4, 2}, chosen), bias});
  const auto slab = [](const Tensor& t, int64_t i) {
    const Tensor part = run_one("shape.slice", {t}, {{"start", i}, {"end", i + 1}});
    Shape shape;
    for (int axis = 1; axis < t.shape().rank(); ++axis) shape.push_back(t.shape()[axis]);
    return *part.reshape(shape);
  };
  for (int64_t t = 0; t < 4; ++t) {
    for (int64_t u = 0; u < 2; ++u) {
      const int64_t expert = chosen[static_cast<size_t>(t * 2 + u)];
      const auto one =
          run_f64("projection.linear", {slab(x, t), slab(weight, expert), slab(bias, expert)});
      EXPECT_TRUE(same_bits(y[static_cast<size_t>((t * 2 + u) * 2)], one[0]));
      EXPECT_TRUE(same_bits(y[static_cast<size_t>((t * 2 + u) * 2 + 1)], one[1]));
    }
  }
  EXPECT_EQ(run_error("experts.linear", {x, weight, i32(Shape{4, 1}, {0, 1, 3, 0})}),
            "Expert 3 at position 2 is outside the 3 experts.");
  EXPECT_EQ(run_error("experts.linear", {x, weight, i32(Shape{4, 1}, {0, -1, 0, 0})}),
            "Expert -1 at position 1 is outside the 3 experts.");
}

// In the order of the choices.
TEST(ExpertValues, CombineWeighsTheChoices) {
  const Tensor y = f64(Shape{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(run_f64("experts.combine", {y, f64(Shape{2, 2}, {1, 0.5, 0, -1})}),
            (std::vector<double>{2.5, 4, -7, -8}));
}

}  // namespace
}  // namespace quern::test
