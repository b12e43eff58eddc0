// Names and requirements of the levels.
#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {

struct Level {
  Isa isa;
  std::string_view name;
  int vector_bits;
};
constexpr Level kLevels[] = {
    {Isa::kScalar, "scalar", 32},
    {Isa::kSse2, "sse2", 128},
    {Isa::kAvx2, "avx2", 256},
    {Isa::kAvxVnni, "avx-vnni", 256},
    {Isa::kAvx512, "avx512", 512},
    {Isa::kNeon, "neon", 128},
    {Isa::kAvx512Vnni, "avx512-vnni", 512},
    {Isa::kAvx512Bf16, "avx512-bf16", 512},
    {Isa::kNeonDotprod, "neon-dotprod", 128},
    {Isa::kNeonI8mm, "neon-i8mm", 128},
};

}  // namespace

std::string_view isa_name(Isa isa) {
  for (const Level& level : kLevels) {
    if (level.isa == isa) return level.name;
  }
  return "unknown";
}

std::optional<Isa> find_isa(std::string_view name) {
  for (const Level& level : kLevels) {
    if (level.name == name) return level.isa;
  }
  return std::nullopt;
}

int vector_bits(Isa isa) {
  for (const Level& level : kLevels) {
    if (level.isa == isa) return level.vector_bits;
  }
  return 32;
}

bool is_supported(Isa isa, const CpuFeatures& features) {
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kSse2:
      return features.sse2;
    case Isa::kAvx2:
      return features.avx2;
    case Isa::kAvxVnni:
      return features.avx_vnni;
    case Isa::kAvx512:
      return features.avx512;
    case Isa::kAvx512Vnni:
      return features.avx512_vnni;
    case Isa::kAvx512Bf16:
      return features.avx512_vnni && features.avx512_bf16;
    case Isa::kNeon:
      return features.neon;
    case Isa::kNeonDotprod:
      return features.dotprod;
    case Isa::kNeonI8mm:
      return features.dotprod && features.i8mm;
  }
  return false;
}

Isa best_isa(std::span<const Isa> levels, const CpuFeatures& features, std::optional<Isa> cap) {
  Isa best = Isa::kScalar;
  for (const Isa isa : levels) {
    if (is_supported(isa, features) && (!cap || isa <= *cap)) best = isa;
  }
  return best;
}

}  // namespace quern::cpu
