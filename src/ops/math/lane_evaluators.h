// Test support: every strict function as a loop over arrays, at each vector width. The source
// lane_evaluators.cc is compiled once per instruction set, with QUERN_LANE_ISA naming it.
#pragma once

namespace quern {

// y[i] = f(x[i]) for i < n; n must be a multiple of the width.
using EvaluateF32 = void (*)(const float* x, float* y, long n);
using EvaluateF64 = void (*)(const double* x, double* y, long n);
// z[i] = f(x[i], y[i]).
using EvaluateF32Pair = void (*)(const float* x, const float* y, float* z, long n);
using EvaluateF64Pair = void (*)(const double* x, const double* y, double* z, long n);

// Widths are in f32 lanes: 1, 4, 8, 16; f64 has half as many (1 for 1). Null: not compiled in.
inline constexpr int kNumLaneWidths = 4;
// The loops of one function, by width. `name` is that of the list ("exp" for strict_exp).
struct UnaryEvaluators {
  const char* name;
  EvaluateF32 f32[kNumLaneWidths];
  EvaluateF64 f64[kNumLaneWidths];
};
struct BinaryEvaluators {
  const char* name;
  EvaluateF32Pair f32[kNumLaneWidths];
  EvaluateF64Pair f64[kNumLaneWidths];
};
// All functions as one instruction set compiled them. The tables have static lifetime.
struct LaneEvaluators {
  const UnaryEvaluators* unary;
  int num_unary;
  const BinaryEvaluators* binary;
  int num_binary;
};

// Compiled for the base instruction set, at all four widths.
LaneEvaluators lane_evaluators_portable();
// 8 lanes, for CPUs with AVX2 and FMA; x86 only.
LaneEvaluators lane_evaluators_avx2();
// 16 lanes, for CPUs with AVX-512 F and DQ; x86 only.
LaneEvaluators lane_evaluators_avx512();

}  // namespace quern
