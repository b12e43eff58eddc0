// The table of product kernels of one level; compiled once per level.
#include "backends/cpu/kernels/linear_kernels.h"

#include QUERN_ISA_HEADER

namespace quern::cpu {

template <>
LinearKernels linear_kernels<kThisIsa>() {
  LinearKernels kernels;
  kernels.num_lanes = kLanes;
  return kernels;
}

}  // namespace quern::cpu
