// The levels of x86-64.
#include "backends/cpu/kernels/kernel_table-inl.h"

namespace quern::cpu {

std::span<const KernelTable> kernel_tables() {
  static const KernelTable tables[] = {
      make_kernel_table<Isa::kScalar>(),     make_kernel_table<Isa::kSse2>(),
      make_kernel_table<Isa::kAvx2>(),       make_kernel_table<Isa::kAvx512>(),
      make_kernel_table<Isa::kAvx512Vnni>(),
  };
  return tables;
}

}  // namespace quern::cpu
