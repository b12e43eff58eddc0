// Kernels of normalisations at one level: one row each. In place is allowed: y may be x.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

// Absent weights and biases are null.
template <class T>
struct NormRow {
  const T* x;
  const T* weight;
  const T* bias;
  T* y;
  int64_t n;
  T eps;
};

// Mean of a row and 1 / sqrt(variance + eps).
template <class T>
struct RowMoments {
  T mean;
  T inv;
};

template <class T>
struct NormFunctions {
  // inv = 1 / sqrt(mean(x * x) + eps); y = (x * inv) * weight.
  void (*rms_norm)(const NormRow<T>& row) = nullptr;
  // d = x - mean(x); inv = 1 / sqrt(mean(d * d) + eps); y = (d * inv) * weight + bias.
  void (*layer_norm)(const NormRow<T>& row) = nullptr;
  RowMoments<T> (*moments)(const T* x, int64_t n, T eps) = nullptr;
  // y = ((x - mean) * inv) * weight + bias with one number each; null weight and bias are left out.
  void (*normalize)(const T* x, T* y, int64_t n, const RowMoments<T>& moments, const T* weight,
                    const T* bias) = nullptr;
};

struct NormKernels {
  NormFunctions<float> f32;
  NormFunctions<double> f64;
};

// Defined once per level, in norm_kernels.cc.
template <Isa kIsa>
NormKernels norm_kernels();

}  // namespace quern::cpu
