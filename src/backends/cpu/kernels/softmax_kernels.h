// Kernels over one row that look for its largest element, at one level. Rows have n > 0 elements.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

template <class T>
struct SoftmaxFunctions {
  // e = exp(x - max); y = e * (1 / sum of e). y may be x.
  void (*softmax)(const T* x, T* y, int64_t n) = nullptr;
  // y = (x - max) - log(sum of e). y may be x, not scratch; scratch holds n elements.
  void (*log_softmax)(const T* x, T* y, T* scratch, int64_t n) = nullptr;
  // Index of the largest element; the first NaN, if there is one; the lowest among equals.
  int64_t (*argmax)(const T* x, int64_t n) = nullptr;
};

struct SoftmaxKernels {
  SoftmaxFunctions<float> f32;
  SoftmaxFunctions<double> f64;
};

// Defined once per level, in softmax_kernels.cc.
template <Isa kIsa>
SoftmaxKernels softmax_kernels();

}  // namespace quern::cpu
