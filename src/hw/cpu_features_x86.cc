// CPU features by CPUID, and the operating system's support by XGETBV.
#include <cpuid.h>

#include <cstdint>

#include "hw/cpu_features.h"

namespace quern {
namespace {

struct CpuidLeaf {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

// All zero where the processor does not have the leaf.
CpuidLeaf cpuid(uint32_t leaf, uint32_t subleaf) {
  CpuidLeaf result;
  // Gives 0 and writes nothing where the leaf is above the highest: the zeros stay.
  __get_cpuid_count(leaf, subleaf, &result.eax, &result.ebx, &result.ecx, &result.edx);
  return result;
}

// Register state that the operating system saves; needs OSXSAVE.
uint64_t read_xcr0() {
  uint32_t low = 0;
  uint32_t high = 0;
  // As an instruction: its intrinsic would need the whole file compiled for XSAVE.
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

constexpr bool has_bit(uint32_t word, int bit) {
  return ((word >> bit) & 1) != 0;
}

}  // namespace

CpuFeatures detect_cpu_features() {
  const CpuidLeaf leaf1 = cpuid(1, 0);
  const CpuidLeaf leaf7 = cpuid(7, 0);
  const CpuidLeaf leaf7_1 = cpuid(7, 1);

  constexpr int kOsxsave = 27;
  constexpr uint64_t kYmmState = 0x06;  // SSE and AVX
  constexpr uint64_t kZmmState = 0xE6;  // and mask registers, both halves of ZMM
  // Without OSXSAVE the instruction itself would fault.
  const uint64_t saved = has_bit(leaf1.ecx, kOsxsave) ? read_xcr0() : 0;
  const bool saves_ymm = (saved & kYmmState) == kYmmState;
  const bool saves_zmm = (saved & kZmmState) == kZmmState;

  // AVX2 is one level with FMA and F16C: every processor with it has them, and kernels of the level
  // use all three.
  CpuFeatures features;
  // SSE2: leaf 1, EDX bit 26; FMA and F16C: ECX bits 12 and 29.
  features.sse2 = has_bit(leaf1.edx, 26);
  const bool fma = has_bit(leaf1.ecx, 12);
  const bool f16c = has_bit(leaf1.ecx, 29);
  // Leaf 7: AVX2 is EBX bit 5; AVX-512 F, DQ, BW, VL are bits 16, 17, 30, 31.
  features.avx2 = saves_ymm && fma && f16c && has_bit(leaf7.ebx, 5);
  const bool avx512_f_dq_bw_vl = has_bit(leaf7.ebx, 16) && has_bit(leaf7.ebx, 17) &&
                                 has_bit(leaf7.ebx, 30) && has_bit(leaf7.ebx, 31);
  features.avx512 = saves_zmm && features.avx2 && avx512_f_dq_bw_vl;
  // VNNI is ECX bit 11; of subleaf 1, AVX-VNNI is EAX bit 4 and BF16 bit 5.
  features.avx512_vnni = features.avx512 && has_bit(leaf7.ecx, 11);
  features.avx_vnni = features.avx2 && has_bit(leaf7_1.eax, 4);
  features.avx512_bf16 = features.avx512 && has_bit(leaf7_1.eax, 5);
  return features;
}

}  // namespace quern
