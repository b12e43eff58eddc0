// The levels of 64-bit Arm.
#include "backends/cpu/kernels/kernel_table-inl.h"

namespace quern::cpu {

std::span<const KernelLevel> kernel_levels() {
  static constexpr KernelLevel kLevels[] = {
      {Isa::kScalar, make_kernel_table<Isa::kScalar>},
      {Isa::kNeon, make_kernel_table<Isa::kNeon>},
      {Isa::kNeonDotprod, make_kernel_table<Isa::kNeonDotprod>},
      {Isa::kNeonI8mm, make_kernel_table<Isa::kNeonI8mm>},
  };
  return kLevels;
}

}  // namespace quern::cpu
