// What the processor of this process can do, as far as kernels choose by it.
#pragma once

namespace quern {

// A plain value; thread-compatible.
// True means that the processor has the instructions and the operating system saves their
// registers. Groups are what one kernel level needs together.
struct CpuFeatures {
  bool sse2 = false;
  bool avx2 = false;         // AVX2, FMA and F16C
  bool avx512 = false;       // AVX-512 F, BW, VL and DQ
  bool avx512_vnni = false;  // int8 dot products in 512 bits
  bool avx_vnni = false;     // the same in 256 bits without AVX-512
  bool avx512_bf16 = false;
  bool neon = false;
  bool dotprod = false;  // Arm int8 dot products
  bool i8mm = false;     // Arm int8 matrix products
};

// Asks the processor, and the operating system where it must save wider registers. The result never
// changes while a process runs, so callers may ask once and keep it. Thread-safe.
CpuFeatures detect_cpu_features();

}  // namespace quern
