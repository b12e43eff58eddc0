// Quantises activations as `quant.dynamic` defines it, and packs them; compiled once per level.
#include "backends/cpu/kernels/quantize_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/reduce-inl.h"
#include "backends/cpu/kernels/unroll-inl.h"

namespace quern::cpu {
namespace {

constexpr int32_t kInfinityBits = 0x7F800000;

template <int kPlanes>
constexpr float kLimit = kPlanes == 1 ? 127.0f : 32639.0f;

struct BlockScale {
  float d;  // of the integers
  float r;  // x * r rounds to the integer
  bool is_finite;
};

// From the bits of max |x|, which compare as the magnitudes do, NaN above infinity.
template <int kPlanes>
QUERN_INLINE BlockScale block_scale(int32_t max_bits) {
  if (max_bits >= kInfinityBits) return {__builtin_nanf(""), 0.0f, false};
  float amax;
  __builtin_memcpy(&amax, &max_bits, sizeof(amax));
  if (amax < 0x1p-100f) return {0.0f, 0.0f, true};
  return {amax / kLimit<kPlanes>, kLimit<kPlanes> / amax, true};
}

QUERN_INLINE VecI32 magnitude_bits(VecF32 x) {
  return bits_as<VecI32>(x) & 0x7FFFFFFF;
}

QUERN_INLINE VecI32 max_of(VecI32 a, VecI32 b) {
  return a > b ? a : b;
}

// Bits of max |x| over n elements.
QUERN_INLINE int32_t max_magnitude_bits(const float* x, int64_t n) {
  VecI32 largest{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    largest = max_of(largest, magnitude_bits(load<VecF32>(x + i)));
  }
  if (i < n) largest = max_of(largest, magnitude_bits(load_partial<VecF32>(x + i, n - i)));
  return reduce_max(largest);
}

// |x * r| passes the limit by less than half, so rounding needs no clamp.
QUERN_INLINE VecI32 round_scaled(VecF32 x, const BlockScale& scale) {
  return scale.is_finite ? round_to_i32(x * splat(scale.r)) : VecI32{};
}

QUERN_INLINE void store_integers(int8_t* p, VecI32 v) {
  store_i8(p, v);
}
QUERN_INLINE void store_integers(int16_t* p, VecI32 v) {
  store_i16(p, v);
}

// Where the integers of a block come from: floats with a scale, or integers that are there.
struct FloatSource {
  const float* x;
  BlockScale scale;
  QUERN_INLINE VecI32 integers(int i) const { return round_scaled(load<VecF32>(x + i), scale); }
};
struct Int8Source {
  const int8_t* q;
  QUERN_INLINE VecI32 integers(int i) const { return load_i8(q + i); }
};
struct Int16Source {
  const int16_t* q;
  QUERN_INLINE VecI32 integers(int i) const { return load_i16(q + i); }
};

// Sums over 16 elements, by half and plane.
template <int kPlanes>
struct HalfSums {
  int32_t of[2][kPlanes];
  QUERN_INLINE int32_t both(int plane) const { return of[0][plane] + of[1][plane]; }
};

// 32 elements from index `first` of the source into q.
template <int kPlanes, class Source>
QUERN_INLINE HalfSums<kPlanes> pack_32(const Source& source, int first, int8_t* q) {
  constexpr int kVectors = 16 / kLanes > 0 ? 16 / kLanes : 1;
  HalfSums<kPlanes> sums;
  unroll<2>([&](auto half) QUERN_INLINE_LAMBDA {
    VecI32 plane_sums[kPlanes] = {};
    for (int v = 0; v < kVectors; ++v) {
      const int i = half * 16 + v * kLanes;
      VecI32 planes[2];
      planes[kPlanes - 1] = source.integers(first + i);
      if constexpr (kPlanes == 2) {
        const VecI32 integer = planes[1];
        planes[0] = (integer + 128) >> 8;
        planes[1] = integer - (planes[0] << 8);
      }
      unroll<kPlanes>([&](auto p) QUERN_INLINE_LAMBDA {
        store_i8(q + p * 32 + i, planes[p]);
        plane_sums[p] += planes[p];
      });
    }
    unroll<kPlanes>([&](auto p)
                        QUERN_INLINE_LAMBDA { sums.of[half][p] = reduce_sum(plane_sums[p]); });
  });
  return sums;
}

template <int kPlanes>
QUERN_INLINE int32_t whole_sum(const int32_t (&planes)[kPlanes]) {
  if constexpr (kPlanes == 1) return planes[0];
  return planes[0] * 256 + planes[kPlanes - 1];
}

// A block of 32 and its sums.
template <int kPlanes, class Source>
QUERN_INLINE void pack_block_32(const Source& source, float d, PackToken& out) {
  const HalfSums<kPlanes> halves = pack_32<kPlanes>(source, 0, out.q);
  int32_t sums[kPlanes];
  for (int p = 0; p < kPlanes; ++p) out.int_sums[p] = sums[p] = halves.both(p);
  *out.d = d;
  *out.sums = d * static_cast<float>(whole_sum(sums));
  out.q += out.width * kPlanes * 32;
  out.int_sums += out.width * kPlanes;
  out.d += out.width;
  out.sums += out.width;
}

// A block of 256 and its sums.
template <int kPlanes, class Source>
QUERN_INLINE void pack_block_256(const Source& source, float d, PackToken& out) {
  *out.d = d;
  out.d += out.width;
  for (int i = 0; i < 8; ++i) {
    const HalfSums<kPlanes> halves = pack_32<kPlanes>(source, i * 32, out.q);
    for (int p = 0; p < kPlanes; ++p) {
      for (int half = 0; half < 2; ++half) {
        out.int_sums[half * out.width * kPlanes + p] = halves.of[half][p];
        out.pairs_16[2 * p + half] = static_cast<int16_t>(halves.of[half][p]);
      }
      out.pairs_32[2 * p + i % 2] = static_cast<int16_t>(halves.both(p));
    }
    out.q += out.width * kPlanes * 32;
    out.int_sums += 2 * out.width * kPlanes;
    out.pairs_16 += 2 * out.width * kPlanes;
    if (i % 2 == 1) out.pairs_32 += 2 * out.width * kPlanes;
  }
}

template <int kPlanes, int kBlock>
void pack_floats(const float* x, const PackToken& token) {
  PackToken out = token;
  for (int64_t first = 0; first < token.columns; first += kBlock) {
    const BlockScale scale = block_scale<kPlanes>(max_magnitude_bits(x + first, kBlock));
    const FloatSource source{x + first, scale};
    if constexpr (kBlock == 32) {
      pack_block_32<kPlanes>(source, scale.d, out);
    } else {
      pack_block_256<kPlanes>(source, scale.d, out);
    }
  }
}

template <int kPlanes, int kBlock>
void pack_integers(const void* q, const float* d, const PackToken& token) {
  using Integer = ConditionalType<kPlanes == 1, int8_t, int16_t>;
  using Source = ConditionalType<kPlanes == 1, Int8Source, Int16Source>;
  PackToken out = token;
  for (int64_t first = 0; first < token.columns; first += kBlock) {
    const Source source{static_cast<const Integer*>(q) + first};
    if constexpr (kBlock == 32) {
      pack_block_32<kPlanes>(source, *d++, out);
    } else {
      pack_block_256<kPlanes>(source, *d++, out);
    }
  }
}

template <int kPlanes>
void quantize_row(const float* x, int64_t n, int64_t block, void* q, float* d) {
  using Integer = ConditionalType<kPlanes == 1, int8_t, int16_t>;
  auto* out = static_cast<Integer*>(q);
  for (int64_t first = 0; first < n; first += block) {
    const int64_t count = n - first < block ? n - first : block;
    const BlockScale scale = block_scale<kPlanes>(max_magnitude_bits(x + first, count));
    *d++ = scale.d;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      store_integers(out + first + i, round_scaled(load<VecF32>(x + first + i), scale));
    }
    if (i == count) continue;
    Integer rest[kLanes];
    store_integers(rest, round_scaled(load_partial<VecF32>(x + first + i, count - i), scale));
    for (int64_t lane = 0; i < count; ++i, ++lane) out[first + i] = rest[lane];
  }
}

template <int kPlanes>
void add_kernels(QuantizeKernels& kernels) {
  kernels.pack_floats[kPlanes - 1][0] = pack_floats<kPlanes, 32>;
  kernels.pack_floats[kPlanes - 1][1] = pack_floats<kPlanes, 256>;
  kernels.pack_integers[kPlanes - 1][0] = pack_integers<kPlanes, 32>;
  kernels.pack_integers[kPlanes - 1][1] = pack_integers<kPlanes, 256>;
  kernels.quantize_row[kPlanes - 1] = quantize_row<kPlanes>;
}

}  // namespace

template <>
QuantizeKernels quantize_kernels<kThisIsa>() {
  QuantizeKernels kernels;
  add_kernels<1>(kernels);
  add_kernels<2>(kernels);
  return kernels;
}

}  // namespace quern::cpu
