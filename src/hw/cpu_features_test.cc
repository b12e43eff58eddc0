// Tests that detection is consistent and agrees with the compiler's own.
#include "hw/cpu_features.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// Kernels are chosen by the highest.
TEST(CpuFeatures, ALevelImpliesTheLevelsBelow) {
  const CpuFeatures features = detect_cpu_features();
  EXPECT_TRUE(!features.avx2 || features.sse2);
  EXPECT_TRUE(!features.avx512 || features.avx2);
  EXPECT_TRUE(!(features.avx512_vnni || features.avx512_bf16) || features.avx512);
  EXPECT_TRUE(!(features.dotprod || features.i8mm) || features.neon);
}

// Two readings of CPUID.
TEST(CpuFeatures, AgreesWithTheCompilersDetection) {
#ifdef __x86_64__
  const CpuFeatures features = detect_cpu_features();
  EXPECT_EQ(features.sse2, __builtin_cpu_supports("sse2") != 0);
  EXPECT_EQ(features.avx2,
            __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(features.avx512,
            __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0);
  EXPECT_EQ(features.avx512_vnni, __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(features.avx512_bf16, __builtin_cpu_supports("avx512bf16") != 0);
#else
  GTEST_SKIP() << "The compiler's detection is used for x86-64 only.";
#endif
}

}  // namespace
}  // namespace quern
