// The levels of 64-bit Arm.
#include "backends/cpu/kernels/kernel_table-inl.h"

namespace quern::cpu {

std::span<const KernelTable> kernel_tables() {
  static const KernelTable tables[] = {
      make_kernel_table<Isa::kScalar>(), make_kernel_table<Isa::kNeon>(),
      make_kernel_table<Isa::kNeonDotprod>(), make_kernel_table<Isa::kNeonI8mm>()};
  return tables;
}

}  // namespace quern::cpu
