// Choice of a table.
#include "backends/cpu/kernels/kernel_table.h"

#include <vector>

namespace quern::cpu {

const KernelTable* find_kernel_table(Isa isa) {
  for (const KernelTable& table : kernel_tables()) {
    if (table.isa == isa) return &table;
  }
  return nullptr;
}

const KernelTable& best_kernel_table(const CpuFeatures& features, std::optional<Isa> cap) {
  std::vector<Isa> levels;
  for (const KernelTable& table : kernel_tables()) levels.push_back(table.isa);
  return *find_kernel_table(best_isa(levels, features, cap));
}

}  // namespace quern::cpu
