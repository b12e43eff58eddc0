// The one level of processors without vector kernels.
#include "backends/cpu/kernels/kernel_table-inl.h"

namespace quern::cpu {

std::span<const KernelTable> kernel_tables() {
  static const KernelTable tables[] = {make_kernel_table<Isa::kScalar>()};
  return tables;
}

}  // namespace quern::cpu
