// Kernels that lay convolution inputs out for matrix products, at one level.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

// The taps of a convolution in an image that holds its padding: k runs over (channel, tap), and the
// value of position p is image[channel * channel_stride + tap_offsets[tap] + offset of p].
template <class T>
struct TapImage {
  const T* image = nullptr;
  int64_t channels = 0;
  int64_t channel_stride = 0;
  const int64_t* tap_offsets = nullptr;
  int64_t num_taps = 0;
};

// Positions from `first` on in a panel lie side by side in the image, from `offset` on.
struct TapRun {
  int64_t first = 0;
  int64_t offset = 0;
};

template <class T>
struct ConvolutionFunctions {
  // Panel [k][width]: the runs, in ascending order of `first`, hold `width` positions together.
  // Reads `width` elements from the start of each run, and writes up to `width` elements past the
  // end of the panel.
  void (*pack_panel)(const TapImage<T>& image, const TapRun* runs, int64_t num_runs,
                     T* out) = nullptr;
  // out[i] = x[i * stride].
  void (*pick)(const T* x, int64_t stride, int64_t n, T* out) = nullptr;
};

struct ConvolutionKernels {
  ConvolutionFunctions<float> f32;
  ConvolutionFunctions<double> f64;
};

// Defined once per level, in convolution_kernels.cc.
template <Isa kIsa>
ConvolutionKernels convolution_kernels();

}  // namespace quern::cpu
