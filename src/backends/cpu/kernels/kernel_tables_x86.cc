// The levels of x86-64.
#include "backends/cpu/kernels/kernel_table-inl.h"

namespace quern::cpu {

namespace {

// The level adds one family of products to those of the level below.
KernelTable make_bf16_table() {
  KernelTable table = make_integer_table<Isa::kAvx512Vnni, Isa::kAvx512>();
  table.isa = Isa::kAvx512Bf16;
  add_bf16_products<Isa::kAvx512Bf16>(table.gemm);
  return table;
}

}  // namespace

std::span<const KernelLevel> kernel_levels() {
  static constexpr KernelLevel kLevels[] = {
      {Isa::kScalar, make_kernel_table<Isa::kScalar>},
      {Isa::kSse2, make_kernel_table<Isa::kSse2>},
      {Isa::kAvx2, make_kernel_table<Isa::kAvx2>},
      {Isa::kAvxVnni, make_integer_table<Isa::kAvxVnni, Isa::kAvx2>},
      {Isa::kAvx512, make_kernel_table<Isa::kAvx512>},
      {Isa::kAvx512Vnni, make_integer_table<Isa::kAvx512Vnni, Isa::kAvx512>},
      {Isa::kAvx512Bf16, make_bf16_table},
  };
  return kLevels;
}

}  // namespace quern::cpu
