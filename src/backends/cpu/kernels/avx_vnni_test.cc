// Level kAvxVnni on machines without AVX-VNNI: products and scores of quantised keys have the bits
// of the scalar level, their dot products carried out by the emulator.
#include <gtest/gtest.h>

#include "backends/cpu/kernels/avx_vnni_emulator.h"
#include "backends/cpu/kernels/product_test_support.h"

namespace quern::cpu::test {
namespace {

class AvxVnni : public testing::Test {
 protected:
  void SetUp() override {
    if (!AvxVnniEmulator::is_supported()) GTEST_SKIP() << "The processor has no AVX2.";
    for (const KernelLevel& level : kernel_levels()) {
      if (level.isa == Isa::kAvxVnni) table_ = level.make();
    }
    ASSERT_EQ(table_.isa, Isa::kAvxVnni);
  }

  std::vector<float> multiply_by(const KernelTable& table, const Product& p) {
    const auto weight = pack_weight(p.weight, p.kind, table, pool_);
    if (!weight) {
      ADD_FAILURE() << weight.error().message;
      return {};
    }
    return multiply(p, *weight, table, pool_);
  }

  // Integers over the whole range, and a scale of every block.
  std::vector<float> dots_by(const KernelTable& table, CacheType type, int rows) const {
    constexpr int64_t kBlocks = 3;
    const int64_t code_bytes = type == CacheType::kQ8_0 ? 32 : 16;
    Random random(7);
    std::vector<uint8_t> keys(static_cast<size_t>(kBlocks * kPageKeys * (2 + code_bytes)));
    for (uint8_t& byte : keys) byte = static_cast<uint8_t>(random());
    for (int64_t block = 0; block < kBlocks; ++block) {
      uint8_t* scales = keys.data() + block * kPageKeys * (2 + code_bytes);
      for (int64_t key = 0; key < kPageKeys; ++key) scales[2 * key + 1] &= 0x3F;  // below 2
    }
    std::vector<int32_t> pairs(kBlocks * 16 * kMaxTileRows);
    for (int32_t& pair : pairs) pair = static_cast<int32_t>(random());
    const std::vector<float> scales = random_floats(kBlocks * kMaxTileRows, random);
    std::vector<int32_t> key_pairs(kBlocks * 16 * kPageKeys);
    std::vector<float> scores(static_cast<size_t>(rows * kPageKeys), -77);
    AttentionRun run;
    run.num_rows = rows;
    run.num_pages = 1;
    run.key_dim = kBlocks * 32;
    run.key_type = type;
    run.scores = scores.data();
    run.pages[0].keys = keys.data();
    for (int row = 0; row < kMaxTileRows; ++row) {
      run.pages[0].first[row] = 0;
      run.pages[0].last[row] = kPageKeys;
    }
    table.integer_keys.dot_keys(run, {kBlocks, pairs.data(), scales.data(), key_pairs.data()});
    return scores;
  }

  const KernelTable& scalar_ = best_kernel_table(CpuFeatures{});
  ThreadPool pool_{1};
  KernelTable table_;
  AvxVnniEmulator emulator_;
};

// Tiles of every width, pairs of panels and one that is left, a short last fold.
TEST_F(AvxVnni, ProductsHaveTheBitsOfTheScalarLevel) {
  Random random(1);
  for (const DType dtype : all_block_formats()) {
    const int64_t size = find_block_format(dtype)->block_size;
    for (const int64_t tokens : {1, 7, 27}) {
      const int64_t columns = (288 + size - 1) / size * size;
      Product p;
      p.x = quern::test::f32({tokens, columns}, hard_floats(tokens, columns, random));
      p.weight = random_blocks(dtype, 21, columns, random);
      for (const ActivationKind kind : {ActivationKind::kInt8, ActivationKind::kInt16}) {
        p.kind = kind;
        EXPECT_TRUE(all_same_bits(multiply_by(table_, p), multiply_by(scalar_, p)))
            << dtype_name(dtype) << ", " << tokens << " tokens, " << p.bits() << " bits";
      }
    }
  }
}

TEST_F(AvxVnni, ScoresHaveTheBitsOfTheScalarLevel) {
  for (const CacheType type : {CacheType::kQ8_0, CacheType::kQ4_0}) {
    for (const int rows : {1, 3, 8, 24}) {
      EXPECT_TRUE(all_same_bits(dots_by(table_, type, rows), dots_by(scalar_, type, rows)))
          << rows << " rows";
    }
  }
}

}  // namespace
}  // namespace quern::cpu::test
