// Kernels of matrix products at one level.
#pragma once

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

struct LinearKernels {
  int num_lanes = 0;  // 32-bit lanes of a vector: output rows of a panel of integer weights
};

// Defined once per level, in linear_kernels.cc.
template <Isa kIsa>
LinearKernels linear_kernels();

}  // namespace quern::cpu
