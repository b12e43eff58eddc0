// Fourier transforms; compiled once per level.
#include "backends/cpu/kernels/fft_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/lanes-inl.h"
#include "backends/cpu/kernels/unroll-inl.h"

namespace quern::cpu {
namespace {

template <class V>
struct ComplexOf {
  V re;
  V im;
};

// even, odd = even + w odd, even - w odd, with products that round on their own.
template <class V, class W>
QUERN_INLINE void butterfly(ComplexOf<V>& even, ComplexOf<V>& odd, const W& w_re, const W& w_im) {
  const V re = w_re * odd.re - w_im * odd.im;
  const V im = w_re * odd.im + w_im * odd.re;
  odd.re = even.re - re;
  odd.im = even.im - im;
  even.re = even.re + re;
  even.im = even.im + im;
}

template <class T>
QUERN_INLINE ComplexOf<VectorFor<T>> load_planes(const FftPlanes<T>& p, int64_t i) {
  return {load<VectorFor<T>>(p.re + i), load<VectorFor<T>>(p.im + i)};
}

// Stages on 2^kStages rows that are `half` apart, one vector of columns at a time.
template <class T, int kStages>
void run_pass(const FftPlanes<T>& p, int64_t base, int64_t half, int64_t begin, int64_t end) {
  using V = VectorFor<T>;
  constexpr int kRows = 1 << kStages;
  for (int64_t k = begin; k < end; k += kLanesOf<V>) {
    ComplexOf<V> rows[kRows];
    unroll<kRows>([&](auto r)
                      QUERN_INLINE_LAMBDA { rows[r] = load_planes(p, base + r * half + k); });
    unroll<kStages>([&](auto s) QUERN_INLINE_LAMBDA {
      constexpr int kStep = 1 << int(decltype(s){});
      unroll<kRows>([&](auto r) QUERN_INLINE_LAMBDA {
        constexpr int kRow = int(decltype(r){});
        if constexpr ((kRow & kStep) == 0) {
          const int64_t root = (kStep + (kRow & (kStep - 1))) * half + k;
          butterfly(rows[kRow], rows[kRow + kStep], load<V>(p.root_re + root),
                    load<V>(p.root_im + root));
        }
      });
    });
    unroll<kRows>([&](auto r) QUERN_INLINE_LAMBDA {
      store(p.re + base + r * half + k, rows[r].re);
      store(p.im + base + r * half + k, rows[r].im);
    });
  }
}

// The rows of a group stay in registers for all stages of the pass: 8 rows of two parts.
template <class T>
void pass(const FftPlanes<T>& p, int64_t base, int64_t half, int stages, int64_t begin,
          int64_t end) {
  if (stages == 3) return run_pass<T, 3>(p, base, half, begin, end);
  if (stages == 2) return run_pass<T, 2>(p, base, half, begin, end);
  run_pass<T, 1>(p, base, half, begin, end);
}

constexpr int log2_of(int n) {
  return n <= 1 ? 0 : 1 + log2_of(n / 2);
}

// The low `bits` bits of i, reversed.
QUERN_INLINE int64_t reverse_bits(int64_t i, int bits) {
  uint64_t v = static_cast<uint64_t>(i);
  v = ((v >> 1) & 0x5555555555555555u) | ((v & 0x5555555555555555u) << 1);
  v = ((v >> 2) & 0x3333333333333333u) | ((v & 0x3333333333333333u) << 2);
  v = ((v >> 4) & 0x0F0F0F0F0F0F0F0Fu) | ((v & 0x0F0F0F0F0F0F0F0Fu) << 4);
  return bits == 0 ? 0 : static_cast<int64_t>(__builtin_bswap64(v) >> (64 - bits));
}
constexpr int reversed_row(int row, int bits) {
  int reversed = 0;
  for (int b = 0; b < bits; ++b) reversed |= (row >> b & 1) << (bits - 1 - b);
  return reversed;
}

// Lanes of a and b whose index has the bit kBit clear (or set), in turns: one step of a
// transposition.
template <int kBit, bool kIsSet, class V, int... kLane>
QUERN_INLINE V mix_lanes(V a, V b, std::integer_sequence<int, kLane...>) {
  constexpr int kCount = sizeof...(kLane);
  constexpr int kOffset = kIsSet ? kBit : 0;
  return __builtin_shufflevector(
      a, b, ((kLane & kBit) != 0 ? (kLane ^ kBit) + kOffset + kCount : kLane + kOffset)...);
}

// rows[r] lane l becomes rows[l] lane r.
template <class V, int kCount>
QUERN_INLINE void transpose(V (&rows)[kCount]) {
  if constexpr (kCount > 1) {
    constexpr auto kAll = std::make_integer_sequence<int, kCount>{};
    unroll<log2_of(kCount)>([&](auto s) QUERN_INLINE_LAMBDA {
      constexpr int kBit = 1 << int(decltype(s){});
      unroll<kCount>([&](auto r) QUERN_INLINE_LAMBDA {
        constexpr int kRow = int(decltype(r){});
        if constexpr ((kRow & kBit) == 0) {
          const V low = rows[kRow], high = rows[kRow + kBit];
          rows[kRow] = mix_lanes<kBit, false>(low, high, kAll);
          rows[kRow + kBit] = mix_lanes<kBit, true>(low, high, kAll);
        }
      });
    });
  }
}

template <class V, int... kLane>
QUERN_INLINE V even_lanes(V a, V b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, (2 * kLane)...);
}
template <class V, int... kLane>
QUERN_INLINE V odd_lanes(V a, V b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, (2 * kLane + 1)...);
}

// A vector of interleaved numbers from x on as real and imaginary parts.
template <class T>
QUERN_INLINE ComplexOf<VectorFor<T>> load_pairs(const T* x) {
  using V = VectorFor<T>;
  constexpr int kCount = kLanesOf<V>;
  const V a = load<V>(x), b = load<V>(x + kCount);
  if constexpr (kCount == 1) {
    return {a, b};
  } else {
    constexpr auto kAll = std::make_integer_sequence<int, kCount>{};
    return {even_lanes(a, b, kAll), odd_lanes(a, b, kAll)};
  }
}

// Output 16 q + r (with 16 lanes) comes from input rev(r) * n / 16 + rev(q): a vector of neighbours
// in each of 16 rows holds 16 groups, each spread over the rows. Stages inside the groups join rows
// with one root for all lanes; then groups are transposed into place, a whole cache line each.
template <class T>
void first(const T* x, int64_t n, int64_t begin, int64_t end, const FftPlanes<T>& p) {
  using V = VectorFor<T>;
  constexpr int kCount = kLanesOf<V>;
  constexpr int kBits = log2_of(kCount);
  const int group_bits = __builtin_ctzll(static_cast<uint64_t>(n)) - kBits;
  const int64_t row_size = n / kCount;
  for (int64_t j = begin; j < end; j += kCount) {
    V re[kCount], im[kCount];
    unroll<kCount>([&](auto r) QUERN_INLINE_LAMBDA {
      constexpr int kFrom = reversed_row(int(decltype(r){}), kBits);
      const auto row = load_pairs(x + 2 * (kFrom * row_size + j));
      re[r] = row.re;
      im[r] = row.im;
    });
    unroll<kBits>([&](auto s) QUERN_INLINE_LAMBDA {
      constexpr int kStep = 1 << int(decltype(s){});
      unroll<kCount>([&](auto r) QUERN_INLINE_LAMBDA {
        constexpr int kRow = int(decltype(r){});
        if constexpr ((kRow & kStep) == 0) {
          const int64_t root = kStep + (kRow & (kStep - 1));
          ComplexOf<V> even{re[kRow], im[kRow]}, odd{re[kRow + kStep], im[kRow + kStep]};
          butterfly(even, odd, splat(p.root_re[root]), splat(p.root_im[root]));
          re[kRow] = even.re;
          im[kRow] = even.im;
          re[kRow + kStep] = odd.re;
          im[kRow + kStep] = odd.im;
        }
      });
    });
    transpose<V, kCount>(re);
    transpose<V, kCount>(im);
    unroll<kCount>([&](auto l) QUERN_INLINE_LAMBDA {
      const int64_t group = reverse_bits(j + l, group_bits);
      store(p.re + kCount * group, re[l]);
      store(p.im + kCount * group, im[l]);
    });
  }
}

// Planes to complex numbers, divided by n for the inverse.
template <class T>
void interleave(const FftPlanes<T>& p, int64_t begin, int64_t end, T divisor, T* y) {
  for (int64_t i = begin; i < end; ++i) {
    y[2 * i] = divisor == T(1) ? p.re[i] : p.re[i] / divisor;
    y[2 * i + 1] = divisor == T(1) ? p.im[i] : p.im[i] / divisor;
  }
}

template <class T>
FftFunctions<T> functions() {
  return {.lanes = kLanesOf<VectorFor<T>>,
          .first = first<T>,
          .pass = pass<T>,
          .interleave = interleave<T>};
}

}  // namespace

template <>
FftKernels fft_kernels<kThisIsa>() {
  return {.f32 = functions<float>(), .f64 = functions<double>()};
}

}  // namespace quern::cpu
