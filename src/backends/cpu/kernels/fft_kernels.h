// Kernels of Fourier transforms of a power of two, at one level: the butterflies of the radix-2
// definition, several stages at a time, on planes of real and imaginary parts.
//
// Stage `half` joins elements start + k and start + half + k, k < half, start a multiple of
// 2 * half, with the root w[k * n / (2 * half)]. The roots of all stages stand in tables of n
// elements: those of stage `half` from index `half` on.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

template <class T>
struct FftPlanes {
  T* re = nullptr;
  T* im = nullptr;
  const T* root_re = nullptr;
  const T* root_im = nullptr;
};

template <class T>
struct FftFunctions {
  // Lanes of a vector: `first` makes the stages half = 1 .. lanes / 2.
  int lanes = 1;
  // From x, interleaved numbers in natural order, to the planes in the order of the stages. Columns
  // [begin, end) of n / lanes, multiples of `lanes`; n is at least lanes * lanes.
  void (*first)(const T* x, int64_t n, int64_t begin, int64_t end,
                const FftPlanes<T>& planes) = nullptr;
  // Stages half, 2 half, ... (1 to 3 of them) on elements base .. base + half * 2^stages, columns
  // [begin, end) of half. All multiples of `lanes`.
  void (*pass)(const FftPlanes<T>& planes, int64_t base, int64_t half, int stages, int64_t begin,
               int64_t end) = nullptr;
  // Planes [begin, end) as interleaved numbers, each divided by `divisor` where that is not 1.
  void (*interleave)(const FftPlanes<T>& planes, int64_t begin, int64_t end, T divisor,
                     T* y) = nullptr;
};

struct FftKernels {
  FftFunctions<float> f32;
  FftFunctions<double> f64;
};

// Defined once per level, in fft_kernels.cc.
template <Isa kIsa>
FftKernels fft_kernels();

}  // namespace quern::cpu
