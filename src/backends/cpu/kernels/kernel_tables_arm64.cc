// The levels of 64-bit Arm.
#include "backends/cpu/kernels/kernel_table-inl.h"

namespace quern::cpu {

std::span<const KernelLevel> kernel_levels() {
  static constexpr KernelLevel kLevels[] = {
      {Isa::kScalar, make_kernel_table<Isa::kScalar>},
      {Isa::kNeon, make_kernel_table<Isa::kNeon>},
      {Isa::kNeonDotprod, make_integer_table<Isa::kNeonDotprod, Isa::kNeon>},
      {Isa::kNeonI8mm, make_integer_table<Isa::kNeonI8mm, Isa::kNeon>},
  };
  return kLevels;
}

}  // namespace quern::cpu
