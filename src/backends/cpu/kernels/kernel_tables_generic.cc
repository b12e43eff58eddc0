// The one level of processors without vector kernels.
#include "backends/cpu/kernels/kernel_table-inl.h"

namespace quern::cpu {

std::span<const KernelLevel> kernel_levels() {
  static constexpr KernelLevel kLevels[] = {{Isa::kScalar, make_kernel_table<Isa::kScalar>}};
  return kLevels;
}

}  // namespace quern::cpu
