// Kernels that find the limits of this machine at one level: rates that no product can pass.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

// Each returns something that depends on all of its work.
struct ProbeKernels {
  // `rounds` rounds of independent int8 dot products as products use them, in registers.
  int32_t (*dot_products)(int64_t rounds) = nullptr;
  // The same of f32 multiplications, each followed by an addition.
  float (*multiply_adds)(int64_t rounds) = nullptr;
  // Reads n bytes once, n a multiple of 1024.
  int32_t (*read)(const std::byte* p, int64_t n) = nullptr;
  int64_t products_per_round = 0;  // of either kind: multiplications of two numbers
  int64_t multiply_adds_per_round = 0;
};

// Defined once per level, in probe_kernels.cc.
template <Isa kIsa>
ProbeKernels probe_kernels();

}  // namespace quern::cpu
