// Kernels of reductions at one level, in the order lanes(32) in chunks of 4,096.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

// Elements of one chunk: the definition's.
inline constexpr int64_t kReduceChunk = 4096;

enum class ReduceFunction : uint8_t {
  kSum,
  kL1Norm,  // sum of |x|
  kProduct,
  kMax,  // NaN if any element is; +0 above -0
  kMin,  // NaN if any element is; -0 below +0
  kCount,
};

template <class T>
struct ReduceFunctions {
  // Result of the n elements at x; n > 0.
  using Row = T (*)(const T* x, int64_t n);
  // y[c] = result over i < n of x[i * stride + c], for `columns` columns; n > 0. `scratch` holds
  // kReduceScratch elements.
  using Columns = void (*)(const T* x, int64_t n, int64_t stride, int64_t columns, T* y,
                           T* scratch);
  Row row[static_cast<int>(ReduceFunction::kCount)] = {};
  Columns columns[static_cast<int>(ReduceFunction::kCount)] = {};
};

// Columns that ReduceFunctions::Columns keeps partial results of at a time, and the room for them.
inline constexpr int64_t kReduceColumns = 64;
inline constexpr int64_t kReduceScratch = 33 * kReduceColumns;

struct ReduceKernels {
  ReduceFunctions<float> f32;
  ReduceFunctions<double> f64;
};

// Defined once per level, in reduce_kernels.cc.
template <Isa kIsa>
ReduceKernels reduce_kernels();

}  // namespace quern::cpu
