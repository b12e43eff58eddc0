// Kernels of losses at one level: sums of terms of two tensors, in the order of reduce_kernels.h.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

// The lanes(32) sum of the terms of one chunk: n elements, from 1 to 4,096. The terms are those of
// ops/loss_terms-inl.h; p and q are their parameters.
template <class T>
struct LossFunctions {
  using Sum = T (*)(const T* x, const T* y, int64_t n, T p, T q);
  Sum squared_error = nullptr;
  Sum absolute_error = nullptr;
  Sum huber = nullptr;  // p: delta, q: delta / 2
  Sum binary_cross_entropy = nullptr;
  Sum kl_divergence = nullptr;
};

struct LossKernels {
  LossFunctions<float> f32;
  LossFunctions<double> f64;
};

// Defined once per level, in loss_kernels.cc.
template <Isa kIsa>
LossKernels loss_kernels();

}  // namespace quern::cpu
