// Choice of a table.
#include "backends/cpu/kernels/kernel_table.h"

#include <algorithm>
#include <vector>

namespace quern::cpu {

namespace {

std::vector<KernelTable> make_supported_tables() {
  const CpuFeatures features = detect_cpu_features();
  std::vector<KernelTable> tables;
  for (const KernelLevel& level : kernel_levels()) {
    if (is_supported(level.isa, features)) tables.push_back(level.make());
  }
  return tables;
}

}  // namespace

bool has_kernel_level(Isa isa) {
  return std::ranges::any_of(kernel_levels(),
                             [=](const KernelLevel& level) { return level.isa == isa; });
}

std::span<const KernelTable> kernel_tables() {
  static const std::vector<KernelTable> tables = make_supported_tables();
  return tables;
}

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
