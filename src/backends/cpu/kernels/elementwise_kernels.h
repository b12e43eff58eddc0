// Kernels of elementwise operations at one level.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

// y[i] = f(x[i]), with up to two parameters a and b.
enum class UnaryFunction : uint8_t {
  kAbs,
  kCelu,   // a: alpha
  kClamp,  // to [a, b]
  kCos,
  kElu,  // a: alpha
  kErf,
  kExp,
  kExpm1,
  kGelu,
  kGeluTanh,
  kHardShrink,  // a: lambda
  kHardSigmoid,
  kHardSwish,
  kLeakyRelu,  // a: slope
  kLog,
  kLog1p,
  kLogSigmoid,
  kMish,
  kNeg,
  kQuickGelu,
  kRelu,
  kScale,  // x * a
  kSelu,
  kSigmoid,
  kSign,
  kSin,
  kSnake,  // a: alpha, b: beta
  kSoftplus,
  kSoftShrink,  // a: lambda
  kSoftsign,
  kSqrt,
  kSwish,
  kTanh,
  kTanhShrink,
  kThreshold,  // a: theta
  kCount,
};

// z[i] = f(x[i], y[i]), with a parameter a.
enum class BinaryFunction : uint8_t {
  kAdd,
  kAddRelu,  // relu(x + y)
  kAxpy,     // y + a * x
  kDiv,
  kGeglu,
  kGegluTanh,
  kGlu,
  kMax,
  kMin,
  kMul,
  kReglu,
  kSiglu,
  kSub,
  kSwiglu,
  kCount,
};

// w[i] = f(x[i], y[i], z[i]): steps of fused programs that follow one another, each rounded.
enum class TernaryFunction : uint8_t {
  kMulAdd,      // x * y + z
  kMulAddRelu,  // relu(x * y + z)
  kCount,
};

// The result may lie over an operand.
template <class T>
struct ElementwiseFunctions {
  using Unary = void (*)(const T* x, T* y, int64_t n, T a, T b);
  using Binary = void (*)(const T* x, const T* y, T* z, int64_t n, T a);
  using Ternary = void (*)(const T* x, const T* y, const T* z, T* w, int64_t n);
  Unary unary[static_cast<int>(UnaryFunction::kCount)] = {};
  Binary binary[static_cast<int>(BinaryFunction::kCount)] = {};
  Ternary ternary[static_cast<int>(TernaryFunction::kCount)] = {};
  // Unary functions that write past the caches themselves, as ElementwiseKernels::stream does and
  // with its end_stream(); not in place. Null for cheap ones, where pieces are as fast, and where
  // the level has no such stores.
  Unary streamed[static_cast<int>(UnaryFunction::kCount)] = {};

  Unary operator[](UnaryFunction f) const { return unary[static_cast<int>(f)]; }
  Binary operator[](BinaryFunction f) const { return binary[static_cast<int>(f)]; }
  Ternary operator[](TernaryFunction f) const { return ternary[static_cast<int>(f)]; }
};

// What a piece is streamed with: places that the next piece reads. They may lie past the end of
// their tensors: a fetch ahead never faults.
struct NextReads {
  static constexpr int kMost = 8;
  const void* places[kMost] = {};
  int count = 0;

  void add(const void* place) {
    if (count < kMost) places[count++] = place;
  }
};

struct ElementwiseKernels {
  ElementwiseFunctions<float> f32;
  ElementwiseFunctions<double> f64;
  // Copies a small piece to memory past the caches; other threads see it after end_stream() of this
  // thread and a release of its own. Meanwhile as
  // many bytes of each place in `next` are fetched: a burst of such stores alone leaves the memory
  // idle in the other direction (Zen 4, a + b of 4 M floats on 2 threads: 1,119 us without, 763 us
  // with). Null where the level has no such stores.
  void (*stream)(const void* from, void* to, int64_t bytes, const NextReads& next) = nullptr;
  void (*end_stream)() = nullptr;
};

// Defined once per level, in elementwise_kernels.cc.
template <Isa kIsa>
ElementwiseKernels elementwise_kernels();

}  // namespace quern::cpu
