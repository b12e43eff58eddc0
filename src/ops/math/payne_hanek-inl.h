// Reduction of large arguments by pi/2 in integer arithmetic: the bits of 2/pi that matter, times
// the mantissa, modulo 4 (after Payne and Hanek). f32 works lane by lane in parallel with 32-bit
// words; f64 walks over the lanes. Meaningful for finite x >= 1.
#pragma once

#include "ops/math/double_word-inl.h"

namespace quern::simd {

// x = quadrant * pi/2 + (high + low) modulo 2 pi, |high| up to pi/4 and a little. Only the low two
// bits of the quadrant count.
template <class V>
struct PayneHanek {
  V high;
  V low;
  UintOf<V> quadrant;
};

// (high + low) * pi/2 as a double word.
template <class V>
QUERN_SIMD_FN DoubleWord<V> times_half_pi(V high, V low) {
  constexpr ElemOf<V> kHigh = kIsF32<V> ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0;
  constexpr ElemOf<V> kLow = kIsF32<V> ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54;
  const auto p = two_product(high, splat<V>(kHigh));
  return fast_two_sum(p.high, p.low + (high * kLow + low * kHigh));
}

// The upper word of a 32 by 32 bit product, from 16-bit halves (no device needs wide products).
template <class U>
QUERN_SIMD_FN U multiply_high_32(U a, U b) {
  const U a_low = a & 0xffffu, a_high = a >> 16;
  const U b_low = b & 0xffffu, b_high = b >> 16;
  const U middle = a_high * b_low + ((a_low * b_low) >> 16);
  const U other = a_low * b_high + (middle & 0xffffu);
  return a_high * b_high + (middle >> 16) + (other >> 16);
}

// 32-bit word number `index` + k of the bits of 2/pi after 32 zeros, index in 0..4.
template <class U>
QUERN_SIMD_FN U pick_word(U index, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3,
                          uint32_t w4) {
  U word = U{} + w4;
  word = index == 3 ? U{} + w3 : word;
  word = index == 2 ? U{} + w2 : word;
  word = index == 1 ? U{} + w1 : word;
  return index == 0 ? U{} + w0 : word;
}

// x = m 2^e with a 24-bit m. Bits of 2/pi of weight 2^(2-e) and more give multiples of 4 and are
// left out; 96 bits follow, of whose product with m the upper 64 are kept: 2 + 62 bits of the
// quotient modulo 4. No f32 comes nearer to a multiple of pi/2 than about 2^-31.
// The bits of 2/pi behind 32 zeros, and the 96 that are used:
//   00000000 a2f9836e 4e441529 fc2757d1 f534ddc0 ...
//   |<- start = e + 30 bits ->|<- w0 w1 w2: 96 bits ->|
template <class V>
requires kIsF32<V> QUERN_SIMD_FN PayneHanek<V> payne_hanek(V x) {
  using U = UintOf<V>;
  const U u = bits_of(x);
  const U m = (u & 0x7fffffu) | 0x800000u;
  // 150 = 127 + 23 makes e the exponent of the integer m. Bit number e + 30 from the left has the
  // weight 2^(1-e).
  const U start = ((u >> 23) - 150u) + 30u;
  const U index = start >> 5, shift = start & 31u;
  // Four neighbouring words hold the three shifted ones. (b >> 1) >> up is b >> (32 - shift), which
  // is defined for a shift of 0 too.
  const U a = pick_word(index, 0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u);
  const U b = pick_word(index, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u);
  const U c = pick_word(index, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u);
  const U d = pick_word(index, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);
  const U up = 31u - shift;
  const U w0 = (a << shift) | ((b >> 1) >> up);
  const U w1 = (b << shift) | ((c >> 1) >> up);
  const U w2 = (c << shift) | ((d >> 1) >> up);
  // Upper 64 of the 96 bits of m * (w0 w1 w2).
  const U product = m * w1;
  const U low = product + multiply_high_32(m, w2);
  const U carry = select(low < product, U{} + 1u, U{});
  const U high = m * w0 + multiply_high_32(m, w1) + carry;
  // Nearest quadrant, then a signed fraction in units of 2^-30, cut into three exact floats.
  const U quadrant = (high + 0x20000000u) >> 30;
  const IntOf<V> top = __builtin_bit_cast(IntOf<V>, high - (quadrant << 30));
  const V t1 = to_float<V>(top & ~0x7f) * 0x1p-30f;
  const U second = ((high & 0x7fu) << 17) | (low >> 15);
  const V t2 = to_float<V>(__builtin_bit_cast(IntOf<V>, second)) * 0x1p-47f;
  const V t3 = to_float<V>(__builtin_bit_cast(IntOf<V>, low & 0x7fffu)) * 0x1p-62f;
  const auto t = fast_two_sum(t1, t2);
  const auto u2 = fast_two_sum(t.high, t.low + t3);
  const auto r = times_half_pi(u2.high, u2.low);
  return {r.high, r.low, quadrant};
}

// The same for one double: 192 bits of 2/pi, 128 kept, in 32-bit limbs.
QUERN_SIMD_FN PayneHanek<double> payne_hanek_one(double x) {
  // 64 zeros, then the first 1,216 bits of 2/pi.
  static constexpr uint32_t kTwoOverPi[] = {
      0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
      0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
      0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639,
      0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f,
      0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7,
      0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};
  const uint64_t u = bits_of(x);
  const uint64_t m = (u & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  // As in f32; a non-finite or small x is told elsewhere, here it only must not leave the table.
  uint32_t start = static_cast<uint32_t>(u >> 52) - 1075u + 62u;
  if (start > 971u + 62u) start = 0;
  const uint32_t index = start >> 5, shift = start & 31u;
  // Word i of the six crosses a border: the upper half of a pair after the shift.
  uint64_t limbs[6];  // the most significant first
  for (int i = 0; i < 6; ++i) {
    const uint64_t pair = (uint64_t{kTwoOverPi[index + i]} << 32) | kTwoOverPi[index + i + 1];
    limbs[i] = ((pair << shift) >> 32) & 0xffffffffu;
  }
  uint64_t product[6] = {};  // modulo 2^192
  const uint64_t factors[2] = {m & 0xffffffffu, m >> 32};
  // Schoolbook product from the lowest limb up. The upper factor lands one limb higher; what leaves
  // the top is a multiple of 2^192, hence of 4 in the quotient.
  for (int f = 0; f < 2; ++f) {
    uint64_t carry = 0;
    for (int i = 5; i - f >= 0; --i) {
      const uint64_t sum = factors[f] * limbs[i] + product[i - f] + carry;
      product[i - f] = sum & 0xffffffffu;
      carry = sum >> 32;
    }
  }
  // 2 + 126 bits of the quotient modulo 4; the 64 bits below only gave their carries.
  uint64_t high = (product[0] << 32) | product[1];
  uint64_t low = (product[2] << 32) | product[3];
  const uint64_t quadrant = (high + (uint64_t{1} << 61)) >> 62;
  high -= quadrant << 62;
  // A fraction above 1/2 has become a negative number of 128 bits: take its magnitude, negate at
  // the end.
  const bool negative = (high >> 63) != 0;
  if (negative) {
    low = ~low + 1;
    high = ~high + (low == 0 ? 1 : 0);
  }
  // Normalise so that the two floats hold the leading 106 bits.
  // high counts units of 2^-62, low units of 2^-126.
  int exponent = -62;
  if (high == 0) {
    high = low;
    low = 0;
    exponent -= 64;
  }
  const int zeros = high == 0 ? 0 : __builtin_clzll(high);
  if (zeros != 0) {
    high = (high << zeros) | (low >> (64 - zeros));
    low <<= zeros;
  }
  const double unit = power_of_two<double>(exponent - zeros);
  const double t1 = static_cast<double>(static_cast<int64_t>(high >> 11)) * (unit * 0x1p+11);
  const uint64_t rest = ((high & 0x7ff) << 42) | (low >> 22);
  const double t2 = static_cast<double>(static_cast<int64_t>(rest)) * (unit * 0x1p-42);
  const auto t = fast_two_sum(t1, t2);
  const auto r = times_half_pi(t.high, t.low);
  return {negative ? -r.high : r.high, negative ? -r.low : r.low, quadrant};
}

// Every lane, whether it is far or not: trig_reduce selects, and payne_hanek_one is safe for all
// bits.
template <class V>
requires(!kIsF32<V>) QUERN_SIMD_FN PayneHanek<V> payne_hanek(V x) {
  if constexpr (std::is_arithmetic_v<V>) {
    return payne_hanek_one(x);
  } else {
    PayneHanek<V> all{x, x, UintOf<V>{}};
    for (int i = 0; i < kLanes<V>; ++i) {
      const auto one = payne_hanek_one(x[i]);
      all.high[i] = one.high;
      all.low[i] = one.low;
      all.quadrant[i] = one.quadrant;
    }
    return all;
  }
}

}  // namespace quern::simd
