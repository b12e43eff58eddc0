// Vectors of one level over the compilers' vector extensions: types, loads, conversions.
// A kernel source includes QUERN_ISA_HEADER, which defines kThisIsa and kVectorBytes, includes this
// file and adds what the extensions cannot say.
//
// All of it, and every kernel, lies in an unnamed namespace, and kernel sources call no inline
// function of other headers, the standard library's included: the linker would keep one copy of
// such a function, perhaps one with instructions that the machine does not have.
#pragma once

#include <cstddef>
#include <cstdint>

#define QUERN_INLINE inline __attribute__((always_inline))

namespace quern::cpu {
namespace {

// Lanes of 32 bits.
constexpr int kLanes = kVectorBytes / 4;

typedef float VecF32 __attribute__((vector_size(kVectorBytes)));
typedef int32_t VecI32 __attribute__((vector_size(kVectorBytes)));
typedef uint32_t VecU32 __attribute__((vector_size(kVectorBytes)));
typedef int16_t VecI16 __attribute__((vector_size(kVectorBytes)));
typedef uint16_t VecU16 __attribute__((vector_size(kVectorBytes)));
typedef int8_t VecI8 __attribute__((vector_size(kVectorBytes)));
typedef uint8_t VecU8 __attribute__((vector_size(kVectorBytes)));
// Lanes of 64 bits: a vector holds kLanes / 2 of them, but the scalar level one.
constexpr int kLanes64 = kVectorBytes < 8 ? 1 : kVectorBytes / 8;
typedef double VecF64 __attribute__((vector_size(kLanes64 * 8)));
typedef int64_t VecI64 __attribute__((vector_size(kLanes64 * 8)));
typedef uint64_t VecU64 __attribute__((vector_size(kLanes64 * 8)));
// kLanes narrow elements, what one vector of 32-bit lanes widens from.
typedef uint16_t VecU16Half __attribute__((vector_size(kLanes * 2)));
typedef int16_t VecI16Half __attribute__((vector_size(kLanes * 2)));
typedef uint8_t VecU8Half __attribute__((vector_size(kLanes * 2)));
typedef int8_t VecI8Quarter __attribute__((vector_size(kLanes)));
typedef uint8_t VecU8Quarter __attribute__((vector_size(kLanes)));

// Four bytes of any type in memory.
struct FourBytes {
  char bytes[4];
};

// std::conditional_t without its header.
template <bool kFirst, class A, class B>
struct ConditionalTypeOf {
  using Type = A;
};
template <class A, class B>
struct ConditionalTypeOf<false, A, B> {
  using Type = B;
};
template <bool kFirst, class A, class B>
using ConditionalType = typename ConditionalTypeOf<kFirst, A, B>::Type;

// Unaligned.
template <class Vec>
QUERN_INLINE Vec load(const void* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof(Vec));
  return v;
}
template <class Vec>
QUERN_INLINE void store(void* p, Vec v) {
  __builtin_memcpy(p, &v, sizeof(Vec));
}
// The first n elements of p, then zeros; n <= the lanes of Vec.
template <class Vec, class T>
QUERN_INLINE Vec load_partial(const T* p, int64_t n) {
  T lanes[sizeof(Vec) / sizeof(T)] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return load<Vec>(lanes);
}
template <class Vec, class T>
QUERN_INLINE void store_partial(T* p, Vec v, int64_t n) {
  T lanes[sizeof(Vec) / sizeof(T)];
  store(lanes, v);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

// All lanes x. Subtracting +0 keeps the sign of a zero.
QUERN_INLINE VecF32 splat(float x) {
  return x - VecF32{};
}
QUERN_INLINE VecF64 splat(double x) {
  return x - VecF64{};
}
QUERN_INLINE VecI32 splat(int32_t x) {
  return x - VecI32{};
}
QUERN_INLINE VecU32 splat(uint32_t x) {
  return x - VecU32{};
}

// v times the float at p, in all lanes. A level with an instruction for it has an overload.
template <class V>
QUERN_INLINE V multiply_broadcast(V v, const float* p) {
  return v * splat(*p);
}

// Every 32-bit lane holds the four bytes at p.
QUERN_INLINE VecI32 splat_i32(const void* p) {
  int32_t bits;
  __builtin_memcpy(&bits, p, sizeof(bits));
  return splat(bits);
}

// The same bits under another type.
template <class To, class From>
QUERN_INLINE To bits_as(From v) {
  static_assert(sizeof(To) == sizeof(From));
  return (To)v;
}

// Integers to floats round to nearest even; floats to integers truncate and need values in range.
QUERN_INLINE VecF32 to_f32(VecI32 v) {
  return __builtin_convertvector(v, VecF32);
}
QUERN_INLINE VecI32 truncate_to_i32(VecF32 v) {
  return __builtin_convertvector(v, VecI32);
}
// Nearest, ties to even; needs |v| < 2^22. Adding 1.5 * 2^23 leaves the integer in the low bits.
QUERN_INLINE VecI32 round_to_i32(VecF32 v) {
  const VecF32 magic = splat(12582912.0f);
  return bits_as<VecI32>(v + magic) - bits_as<VecI32>(magic);
}

// Products of 16-bit pairs, added: one 32-bit lane for each pair; each level defines it.
QUERN_INLINE VecI32 multiply_pairs(VecI16 a, VecI16 b);
// sum += the products of the pairs of a and the pair of 16-bit integers at p, added. A level with
// an instruction for it has an overload.
template <class V>
QUERN_INLINE void add_pairs(VecI32& sum, V a, const int32_t* p) {
  sum += multiply_pairs(a, bits_as<V>(splat(*p)));
}

// kLanes unsigned integers of 16 bits, widened; each level defines it.
QUERN_INLINE VecU32 load_u16(const uint16_t* p);

QUERN_INLINE VecF32 widen_bf16(const uint16_t* p) {
  return bits_as<VecF32>(load_u16(p) << 16);
}

// f16 codes in 32-bit lanes to f32, exactly, by integer steps: for levels without an instruction.
QUERN_INLINE VecF32 widen_f16_bits(VecU32 code) {
  const VecU32 magnitude = code & 0x7FFFu;
  const VecU32 normal = (magnitude << 13) + (112u << 23);
  // A denormal: (1 + m) * 2^-14 - 2^-14.
  const VecF32 denormal =
      bits_as<VecF32>((magnitude << 13) + (113u << 23)) - splat(6.103515625e-05f);
  VecU32 bits = magnitude < 0x400u ? bits_as<VecU32>(denormal) : normal;
  bits = magnitude >= 0x7C00u ? (magnitude << 13) + (224u << 23) : bits;
  return bits_as<VecF32>(bits | ((code & 0x8000u) << 16));
}

}  // namespace
}  // namespace quern::cpu
