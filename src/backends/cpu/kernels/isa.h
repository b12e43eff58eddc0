// Instruction-set levels of the cpu backend and the choice among them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "hw/cpu_features.h"

namespace quern::cpu {

// A level is one compilation of all kernels. Levels of one architecture are ordered: a later one
// needs more of the processor.
enum class Isa : uint8_t {
  kScalar,  // no vectors: any machine
  kSse2,
  kAvx2,         // with FMA and F16C
  kAvxVnni,      // and int8 dot products
  kAvx512,       // F, BW, VL, DQ
  kAvx512Vnni,   // and int8 dot products
  kAvx512Bf16,   // and bf16 dot products: other kernels are those of kAvx512Vnni
  kNeon,         // any 64-bit Arm processor
  kNeonDotprod,  // and int8 dot products
  kNeonI8mm,     // and int8 matrix products
};

// "scalar", "sse2", "avx2", "avx-vnni", "avx512", "avx512-vnni", "avx512-bf16", "neon",
// "neon-dotprod", "neon-i8mm": the names of --isa.
std::string_view isa_name(Isa isa);
std::optional<Isa> find_isa(std::string_view name);
// Bits of a register of the level; the scalar level has numbers of 32.
int vector_bits(Isa isa);
bool is_supported(Isa isa, const CpuFeatures& features);

// The highest supported level of `levels` (ascending, kScalar first) that is not above `cap`.
Isa best_isa(std::span<const Isa> levels, const CpuFeatures& features,
             std::optional<Isa> cap = std::nullopt);

}  // namespace quern::cpu
