// The SIMD layer of strict math: one spelling for a scalar (float, double) and for a GCC/clang
// vector of them, so that one source gives the same bits at every width.
// Everything here has internal linkage and is inlined: a file compiled for AVX-512 can include it
// and no copy of its code can stand in for the portable one. GCC without the instruction set of a
// wide vector warns about its ABI; such a file needs -Wno-psabi.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/math/simd_hardware-inl.h"

#define QUERN_SIMD_FN static inline __attribute__((always_inline))

namespace quern::simd {

// N lanes of T as one register-like value: VectorOf<float, 8> is 32 bytes.
template <class T, int N>
struct VectorMaker {
  typedef T Type __attribute__((vector_size(N * sizeof(T))));
};
template <class T, int N>
using VectorOf = typename VectorMaker<T, N>::Type;

// What a lane type V (float, double, or a vector of them) is made of.
template <class V>
struct LaneTraits {
  using Elem = std::remove_cvref_t<decltype(V{}[0])>;
  static constexpr int kLanes = sizeof(V) / sizeof(Elem);
  template <class T>
  using Rebind = VectorOf<T, kLanes>;
};
template <>
struct LaneTraits<float> {
  using Elem = float;
  static constexpr int kLanes = 1;
  template <class T>
  using Rebind = T;
};
template <>
struct LaneTraits<double> : LaneTraits<float> {
  using Elem = double;
};

// The element type of V, whether it is f32, and the number of lanes.
template <class V>
using ElemOf = typename LaneTraits<V>::Elem;
template <class V>
inline constexpr bool kIsF32 = std::is_same_v<ElemOf<V>, float>;
template <class V>
inline constexpr int kLanes = LaneTraits<V>::kLanes;
// Integers as wide as the element; a scalar's are plain int32_t or int64_t.
template <class V>
using IntOf =
    typename LaneTraits<V>::template Rebind<std::conditional_t<kIsF32<V>, int32_t, int64_t>>;
template <class V>
using UintOf =
    typename LaneTraits<V>::template Rebind<std::conditional_t<kIsF32<V>, uint32_t, uint64_t>>;
template <class V>
using UintElem = std::conditional_t<kIsF32<V>, uint32_t, uint64_t>;

// The format of the element.
template <class V>
inline constexpr int kMantissaBits = kIsF32<V> ? 23 : 52;
template <class V>
inline constexpr int kBias = kIsF32<V> ? 127 : 1023;
template <class V>
inline constexpr UintElem<V> kSignBit = UintElem<V>{1} << (sizeof(ElemOf<V>) * 8 - 1);
template <class V>
inline constexpr UintElem<V> kInfBits = UintElem<V>{2 * kBias<V> + 1} << kMantissaBits<V>;
// 1.5 * 2^mantissa: adding it rounds to an integer (nearest even) that stands in the low bits.
template <class V>
inline constexpr ElemOf<V> kRoundMagic = static_cast<ElemOf<V>>(UintElem<V>{3}
                                                                << (kMantissaBits<V> - 1));

// `value` in every lane.
template <class V>
QUERN_SIMD_FN V splat(ElemOf<V> value) {
  if constexpr (kLanes<V> == 1 && std::is_arithmetic_v<V>) {
    return value;
  } else {
    return value - V{};  // x - (+0) is x, also for -0
  }
}

// Bit casts between a lane type and integers of the same width; no bit changes.
template <class V>
QUERN_SIMD_FN UintOf<V> bits_of(V x) {
  return __builtin_bit_cast(UintOf<V>, x);
}
template <class V>
QUERN_SIMD_FN IntOf<V> signed_bits_of(V x) {
  return __builtin_bit_cast(IntOf<V>, x);
}
// U is UintOf<V> or IntOf<V>.
template <class V, class U>
QUERN_SIMD_FN V from_bits(U u) {
  return __builtin_bit_cast(V, u);
}
template <class V>
QUERN_SIMD_FN IntOf<V> as_signed(UintOf<V> u) {
  return __builtin_bit_cast(IntOf<V>, u);
}

// Integers to floats lane by lane, nearest even where an integer has too many bits.
template <class V, class I>
QUERN_SIMD_FN V to_float(I i) {
  if constexpr (std::is_arithmetic_v<V>) {
    return static_cast<V>(i);
  } else {
    return __builtin_convertvector(i, V);
  }
}

// Lane by lane m ? a : b. M is what a comparison of lanes gives: bool, or a vector of 0 and -1.
template <class M, class V>
QUERN_SIMD_FN V select(M m, V a, V b) {
  return m ? a : b;
}

// Whether the comparison holds in some lane. Vector masks fold as 64-bit words, a few scalar steps.
template <class M>
QUERN_SIMD_FN bool any(M m) {
  if constexpr (std::is_arithmetic_v<M>) {
    return m;
  } else {
    using Words = VectorOf<uint64_t, sizeof(M) / 8 == 0 ? 1 : sizeof(M) / 8>;
    const Words words = __builtin_bit_cast(Words, m);
    uint64_t joined = 0;
    for (unsigned i = 0; i < sizeof(Words) / 8; ++i) joined |= words[i];
    return joined != 0;
  }
}

// Sign bits alone: no arithmetic, so NaN, infinities and both zeros are as good as any number.
template <class V>
QUERN_SIMD_FN V abs(V x) {
  return from_bits<V>(bits_of(x) & ~kSignBit<V>);
}
template <class V>
QUERN_SIMD_FN UintOf<V> sign_of(V x) {
  return bits_of(x) & kSignBit<V>;
}
template <class V>
QUERN_SIMD_FN V flip_sign(V x, UintOf<V> sign) {
  return from_bits<V>(bits_of(x) ^ sign);
}

// Clamps; NaN stays NaN.
template <class V>
QUERN_SIMD_FN V at_most(V x, ElemOf<V> limit) {
  if constexpr (requires(V v) { lesser_or_second(v, v); }) {
    // The limit comes first: the instruction gives its second operand where one is NaN, so x stays.
    return lesser_or_second(splat<V>(limit), x);
  } else {
    return select(x > limit, splat<V>(limit), x);
  }
}
template <class V>
QUERN_SIMD_FN V at_least(V x, ElemOf<V> limit) {
  if constexpr (requires(V v) { greater_or_second(v, v); }) {
    return greater_or_second(splat<V>(limit), x);
  } else {
    return select(x < limit, splat<V>(limit), x);
  }
}

// 2^n for a normal result: n in [1 - bias, bias].
template <class V>
QUERN_SIMD_FN V power_of_two(IntOf<V> n) {
  const UintOf<V> biased = __builtin_bit_cast(UintOf<V>, n) + UintElem<V>{kBias<V>};
  return from_bits<V>(biased << kMantissaBits<V>);
}

// Whether p * 2^n is one instruction.
template <class V>
inline constexpr bool kHasTimesPower = requires(V v) { times_power(v, v); };

// sqrt is correctly rounded by IEEE 754 in every lane.
template <class V>
QUERN_SIMD_FN V sqrt(V x) {
  if constexpr (std::is_arithmetic_v<V>) {
    if constexpr (kIsF32<V>) return __builtin_sqrtf(x);
    if constexpr (!kIsF32<V>) return __builtin_sqrt(x);
  } else {
    V y = x;
    for (int i = 0; i < kLanes<V>; ++i) y[i] = sqrt(x[i]);
    return y;
  }
}

// c0 + x (c1 + x (c2 + ...)), from the last coefficient inwards.
// Every step is a product and a sum, each rounded. The order is part of the result's bits.
template <class V>
QUERN_SIMD_FN V horner(V, ElemOf<V> c) {
  return splat<V>(c);
}
template <class V, class... C>
QUERN_SIMD_FN V horner(V x, ElemOf<V> c0, ElemOf<V> c1, C... rest) {
  return horner(x, c1, rest...) * x + c0;
}

}  // namespace quern::simd
