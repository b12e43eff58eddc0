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
  kAxpy,  // y + a * x
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

// The result may lie over an operand.
template <class T>
struct ElementwiseFunctions {
  using Unary = void (*)(const T* x, T* y, int64_t n, T a, T b);
  using Binary = void (*)(const T* x, const T* y, T* z, int64_t n, T a);
  Unary unary[static_cast<int>(UnaryFunction::kCount)] = {};
  Binary binary[static_cast<int>(BinaryFunction::kCount)] = {};

  Unary operator[](UnaryFunction f) const { return unary[static_cast<int>(f)]; }
  Binary operator[](BinaryFunction f) const { return binary[static_cast<int>(f)]; }
};

struct ElementwiseKernels {
  ElementwiseFunctions<float> f32;
  ElementwiseFunctions<double> f64;
};

// Defined once per level, in elementwise_kernels.cc.
template <Isa kIsa>
ElementwiseKernels elementwise_kernels();

}  // namespace quern::cpu
