// Test support: a strict f32 function against its oracle over all 2^32 inputs, or each n-th.
#pragma once

#include <cstdint>

#include "ops/math/lane_evaluators.h"
#include "ops/math/math_oracle.h"

namespace quern {

// What a sweep saw: the largest error in ulps of f32 and one input that has it. +infinity stands
// for a wrong NaN, a wrong sign of zero or a mirror image that differs. Mirrored inputs count too.
struct SweepResult {
  double worst_ulp = 0;
  float worst_input = 0;
  uint64_t num_inputs = 0;
};

// Every stride-th bit pattern, on all cores. Where the function is odd or even, inputs below zero
// are only checked to give the bits of the positive ones (a difference counts as +inf ulp).
SweepResult sweep_f32(EvaluateF32 evaluate, const MathOracle& oracle, uint32_t stride);

// The evaluator of the fastest instruction set here; its bits are those of the others
// (strict_math_lanes_test). Null for an unknown name.
EvaluateF32 fastest_f32_evaluator(const char* name);

}  // namespace quern
