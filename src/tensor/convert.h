// Conversions between element types, exactly as strict numerics defines them: narrow floats round
// once to nearest even from the source value, integers either round or truncate.
// Inline and branch-light, so that loops over them vectorise; constexpr, so that tables can use
// them.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "quern/dtype.h"

namespace quern {

namespace narrow_float {

// A float of one sign bit, E exponent bits and M mantissa bits. Without infinity (the "fn" kind)
// the code of all ones is NaN and the other codes of the top exponent are finite.
template <int E, int M, bool kHasInfinity>
struct Format {
  //    bit    E+M   E+M-1 .. M   M-1 .. 0
  //           sign  exponent     mantissa      value (-1)^s * 2^(exponent - bias) * (1 + m / 2^M)
  // Exponent 0 is 2^(1 - bias) * m / 2^M, without the leading 1.
  static constexpr int kMantissaBits = M;
  static constexpr int kBias = (1 << (E - 1)) - 1;
  static constexpr uint32_t kSign = 1u << (E + M);
  static constexpr uint32_t kTopExponent = ((1u << E) - 1) << M;
  // The quiet NaN without payload; in the "fn" kind the only one. Codes without sign from kFirstNan
  // on are NaNs, the smaller ones order like their values.
  static constexpr uint32_t kNan = kHasInfinity ? kTopExponent | 1u << (M - 1) : kSign - 1;
  static constexpr uint32_t kFirstNan = kHasInfinity ? kTopExponent + 1 : kNan;
  // What a value past the largest finite one becomes without `saturate`.
  static constexpr uint32_t kOverflow = kHasInfinity ? kTopExponent : kNan;
  static constexpr uint32_t kLargest = kOverflow - 1;  // the largest finite code
};
// IEEE 754 binary16; the upper half of a binary32; the two of OCP FP8 1.0 (2023).
using F16 = Format<5, 10, true>;
using BF16 = Format<8, 7, true>;
using F8E4M3 = Format<4, 3, false>;
using F8E5M2 = Format<5, 2, true>;

// The value of a code; exact. NaN codes give NaN.
template <class F>
constexpr float widen(uint32_t code) {
  constexpr uint32_t kExponentOne = 1u << 23;
  // The difference of the two biases in the exponent field of an f32; 0 for bf16, whose codes are
  // upper halves of f32 and need no other step.
  constexpr uint32_t kRebias = static_cast<uint32_t>(127 - F::kBias) << 23;
  const uint32_t sign = (code & F::kSign) != 0 ? 0x80000000u : 0;
  const uint32_t magnitude = code & (F::kSign - 1);
  uint32_t bits = (magnitude << (23 - F::kMantissaBits)) + kRebias;
  if constexpr (kRebias != 0) {
    // A denormal: (1 + m) * 2^e - 2^e, with e the smallest exponent of the format.
    const float denormal =
        std::bit_cast<float>(bits + kExponentOne) - std::bit_cast<float>(kRebias + kExponentOne);
    bits = magnitude < (1u << F::kMantissaBits) ? std::bit_cast<uint32_t>(denormal) : bits;
    // Infinity first, then NaN over it: without infinity kFirstNan is kLargest + 1, so that the
    // second line takes all that the first one caught.
    bits = magnitude > F::kLargest ? 0x7F800000u : bits;
    bits = magnitude >= F::kFirstNan ? 0x7FC00000u : bits;
  }
  return std::bit_cast<float>(bits | sign);
}

// The code nearest to x, ties to even. Past the largest finite value: infinity (NaN where the
// format has none), or the largest finite code when `saturate`, for infinite x too.
template <class F, std::floating_point Source>
constexpr uint32_t narrow(Source x, bool saturate) {
  using Bits = std::conditional_t<sizeof(Source) == 4, uint32_t, uint64_t>;
  constexpr int kMantissa = std::numeric_limits<Source>::digits - 1;
  constexpr int kSourceBias = std::numeric_limits<Source>::max_exponent - 1;
  constexpr int kDropped = kMantissa - F::kMantissaBits;
  constexpr Bits kSourceSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  constexpr Bits kInfinity = std::bit_cast<Bits>(std::numeric_limits<Source>::infinity());
  constexpr Bits kRebias = static_cast<Bits>(kSourceBias - F::kBias) << kMantissa;

  const Bits bits = std::bit_cast<Bits>(x);
  const Bits magnitude = bits & ~kSourceSign;
  // Ties to even by an integer addition: half a step less one, plus the last bit that stays. A
  // carry out of the mantissa moves on into the exponent, which is the next code as it should be.
  const Bits odd = (magnitude >> kDropped) & 1;
  Bits code = (magnitude - kRebias + (Bits{1} << (kDropped - 1)) - 1 + odd) >> kDropped;
  if constexpr (kRebias != 0) {
    // Below the normal range the code counts steps of 2^(1 - bias - M). Adding a float whose last
    // bit has that weight makes the hardware round there.
    constexpr Bits kFirstNormal = kRebias + (Bits{1} << kMantissa);
    constexpr Bits kStep = kFirstNormal + (static_cast<Bits>(kDropped) << kMantissa);
    const Source sum =
        std::bit_cast<Source>(std::min(magnitude, kFirstNormal)) + std::bit_cast<Source>(kStep);
    code = magnitude < kFirstNormal ? std::bit_cast<Bits>(sum) - kStep : code;
  }
  // The bounds come after rounding: a value below the midpoint past the largest code rounds down to
  // it and is no overflow.
  const Bits overflow = saturate ? F::kLargest : F::kOverflow;
  code = code > F::kLargest ? overflow : code;
  code = magnitude > kInfinity ? Bits{F::kNan} : code;
  return static_cast<uint32_t>(code) | ((bits & kSourceSign) != 0 ? F::kSign : 0);
}

}  // namespace narrow_float

// Codes to f32, exact; NaN codes give NaN.
constexpr float f16_to_f32(uint16_t code) {
  return narrow_float::widen<narrow_float::F16>(code);
}
constexpr float bf16_to_f32(uint16_t code) {
  return narrow_float::widen<narrow_float::BF16>(code);
}
constexpr float f8e4m3_to_f32(uint8_t code) {
  return narrow_float::widen<narrow_float::F8E4M3>(code);
}
constexpr float f8e5m2_to_f32(uint8_t code) {
  return narrow_float::widen<narrow_float::F8E5M2>(code);
}

// From f32 or f64, with one rounding.
template <std::floating_point Source>
constexpr uint16_t to_f16(Source x) {
  return static_cast<uint16_t>(narrow_float::narrow<narrow_float::F16>(x, false));
}
// Past the largest finite bf16: infinity.
template <std::floating_point Source>
constexpr uint16_t to_bf16(Source x) {
  return static_cast<uint16_t>(narrow_float::narrow<narrow_float::BF16>(x, false));
}
// Past 448: 448 when `saturate`, else NaN, as the format has no infinity.
template <std::floating_point Source>
constexpr uint8_t to_f8e4m3(Source x, bool saturate = true) {
  return static_cast<uint8_t>(narrow_float::narrow<narrow_float::F8E4M3>(x, saturate));
}
// Past 57,344: infinity, or 57,344 when `saturate`.
template <std::floating_point Source>
constexpr uint8_t to_f8e5m2(Source x, bool saturate = false) {
  return static_cast<uint8_t>(narrow_float::narrow<narrow_float::F8E5M2>(x, saturate));
}

// The nearest whole number, ties to even; keeps the sign of a zero, infinity and NaN.
template <std::floating_point Float>
constexpr Float round_even(Float x) {
  constexpr Float kFirstWhole = Float{1} / std::numeric_limits<Float>::epsilon();  // 2^23 or 2^52
  if (x > -kFirstWhole && x < kFirstWhole) {
    // From 2^23 (2^52) on all values are whole, so the first operation rounds there, ties to even,
    // and the second is exact. A negative x needs the other sign: x + 2^23 lies below 2^23, where
    // halves still exist. The sign bit is set at the end, since -0.25 gives +0.
    const Float up = (x + kFirstWhole) - kFirstWhole;
    const Float down = (x - kFirstWhole) + kFirstWhole;
    using Bits = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
    constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
    const Bits sign = std::bit_cast<Bits>(x) & kSign;
    return std::bit_cast<Float>(std::bit_cast<Bits>(sign == 0 ? up : down) | sign);
  }
  return x;
}

// x toward zero into the range of Int: the `cast` of a float. NaN gives 0.
template <std::integral Int, std::floating_point Float>
constexpr Int cast_to_int(Float x) {
  // 2^digits, the first value past the range; exact in every float type.
  constexpr Int kHalf = std::numeric_limits<Int>::max() / 2 + 1;
  constexpr Float kEnd = static_cast<Float>(kHalf) * 2;
  constexpr Float kBegin = std::numeric_limits<Int>::is_signed ? -kEnd : Float{0};
  // Comparisons with powers of two, which are exact in every float type; max() itself is not (2^31
  // - 1 becomes 2^31 in f32), and a C++ cast of a value outside the range is undefined.
  if (x >= kEnd) return std::numeric_limits<Int>::max();
  if (x > kBegin) return static_cast<Int>(x);
  return x <= kBegin ? std::numeric_limits<Int>::min() : Int{0};
}

// The nearest integer, ties to even, clamped to the range of Int: quantising. NaN gives 0.
template <std::integral Int, std::floating_point Float>
constexpr Int round_to_int(Float x) {
  return cast_to_int<Int>(round_even(x));
}

// The nearest integer, ties to even, clamped to [low, high]. NaN gives 0.
template <std::floating_point Float>
constexpr int32_t round_to_range(Float x, int32_t low, int32_t high) {
  const int32_t rounded = round_to_int<int32_t>(x);
  return std::clamp(rounded, low, high);
}

// `cast` to 4 bits: truncates, then keeps the low 4 bits as i4 (-8 to 7) or u4 (0 to 15).
template <std::floating_point Float>
constexpr int8_t cast_to_i4(Float x) {
  return static_cast<int8_t>(((cast_to_int<int64_t>(x) & 15) ^ 8) - 8);
}
template <std::floating_point Float>
constexpr uint8_t cast_to_u4(Float x) {
  return static_cast<uint8_t>(cast_to_int<int64_t>(x) & 15);
}

// True for the floats and for the integers of 8 bits and more: types that widen_row reads.
bool can_widen(DType dtype);
// n elements of a plain type to f32: exact for narrow floats, one rounding for f64 and integers.
// Needs can_widen(dtype).
void widen_row(DType dtype, const std::byte* row, float* out, int64_t n);

// n f32 values to a float type with the default overflow rules. Needs is_float(dtype).
void narrow_row(DType dtype, const float* row, std::byte* out, int64_t n);
// The same from f64: one rounding, also to f32.
void narrow_row(DType dtype, const double* row, std::byte* out, int64_t n);

}  // namespace quern
