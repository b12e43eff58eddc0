// Tests of the choice of a level and of the list of tables.
#include "backends/cpu/kernels/isa.h"

#include <gtest/gtest.h>

#include "backends/cpu/kernels/kernel_table.h"

namespace quern::cpu {
namespace {

constexpr Isa kX86[] = {Isa::kScalar, Isa::kSse2,       Isa::kAvx2,      Isa::kAvxVnni,
                        Isa::kAvx512, Isa::kAvx512Vnni, Isa::kAvx512Bf16};
constexpr Isa kArm[] = {Isa::kScalar, Isa::kNeon, Isa::kNeonDotprod, Isa::kNeonI8mm};

TEST(Isa, NamesComeBack) {
  for (const Isa isa : kX86) EXPECT_EQ(find_isa(isa_name(isa)), isa);
  for (const Isa isa : kArm) EXPECT_EQ(find_isa(isa_name(isa)), isa);
  EXPECT_EQ(isa_name(Isa::kAvx512Vnni), "avx512-vnni");
  EXPECT_EQ(find_isa("AVX2"), std::nullopt);
  EXPECT_EQ(find_isa(""), std::nullopt);
}

// Made-up features, so that every machine tests every level.
TEST(Isa, BestIsTheHighestSupportedLevel) {
  CpuFeatures features;
  EXPECT_EQ(best_isa(kX86, features), Isa::kScalar);
  features.sse2 = features.avx2 = true;
  EXPECT_EQ(best_isa(kX86, features), Isa::kAvx2);
  features.avx_vnni = true;
  EXPECT_EQ(best_isa(kX86, features), Isa::kAvxVnni);
  features.avx512 = features.avx512_vnni = true;
  EXPECT_EQ(best_isa(kX86, features), Isa::kAvx512Vnni);
  features.avx512_bf16 = true;
  EXPECT_EQ(best_isa(kX86, features), Isa::kAvx512Bf16);
  features.avx512_vnni = false;  // the level takes its other kernels from the one below
  EXPECT_EQ(best_isa(kX86, features), Isa::kAvx512);
}

// As --isa does it: never above the cap, and never what the processor lacks.
TEST(Isa, CapLimitsTheChoice) {
  CpuFeatures features;
  features.sse2 = features.avx2 = features.avx512 = true;
  EXPECT_EQ(best_isa(kX86, features, Isa::kSse2), Isa::kSse2);
  EXPECT_EQ(best_isa(kX86, features, Isa::kScalar), Isa::kScalar);
  // Not supported: the best below it.
  EXPECT_EQ(best_isa(kX86, features, Isa::kAvx512Vnni), Isa::kAvx512);
}

TEST(Isa, ArmLevelsNeedWhatTheLevelsBelowNeed) {
  CpuFeatures features;
  EXPECT_EQ(best_isa(kArm, features), Isa::kScalar);
  features.neon = true;
  EXPECT_EQ(best_isa(kArm, features), Isa::kNeon);
  features.i8mm = true;  // without dot products, which the level uses too
  EXPECT_EQ(best_isa(kArm, features), Isa::kNeon);
  features.dotprod = true;
  EXPECT_EQ(best_isa(kArm, features), Isa::kNeonI8mm);
  EXPECT_EQ(best_isa(kArm, features, Isa::kNeonDotprod), Isa::kNeonDotprod);
  EXPECT_EQ(best_isa(kArm, features, Isa::kNeon), Isa::kNeon);
  features.i8mm = false;
  EXPECT_EQ(best_isa(kArm, features, Isa::kNeonI8mm), Isa::kNeonDotprod);
}

TEST(KernelTable, ScalarIsFirstAndEachLevelAppearsOnce) {
  const auto levels = kernel_levels();
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels.front().isa, Isa::kScalar);
  for (size_t i = 1; i < levels.size(); ++i) EXPECT_LT(levels[i - 1].isa, levels[i].isa);
}

// A table is made by code of its own level, so there is none where that code cannot run.
TEST(KernelTable, ThereIsOneForEachLevelThatTheMachineSupports) {
  const CpuFeatures features = detect_cpu_features();
  for (const KernelLevel& level : kernel_levels()) {
    SCOPED_TRACE(isa_name(level.isa));
    EXPECT_TRUE(has_kernel_level(level.isa));
    const KernelTable* table = find_kernel_table(level.isa);
    ASSERT_EQ(table != nullptr, is_supported(level.isa, features));
    if (table == nullptr) continue;
    EXPECT_EQ(table->isa, level.isa);
    EXPECT_EQ(vector_bits(level.isa), 32 * table->linear.num_lanes);
  }
}

TEST(KernelTable, BestIsSupportedByThisMachine) {
  const CpuFeatures features = detect_cpu_features();
  EXPECT_TRUE(is_supported(best_kernel_table(features).isa, features));
  EXPECT_EQ(best_kernel_table(features, Isa::kScalar).isa, Isa::kScalar);
}

}  // namespace
}  // namespace quern::cpu
