// Blocks of matrix products cover the result once, at any shape and number of threads.
#include "backends/cpu/kernels/gemm_split.h"

#include <gtest/gtest.h>

#include <vector>

namespace quern::cpu {
namespace {

// m around tiles of 6 and 24 rows, n around panels of 16. Counting each element finds both gaps and
// overlaps.
TEST(GemmSplit, BlocksCoverTheResultOnce) {
  for (const int64_t m : {1, 5, 6, 7, 24, 25, 100, 241}) {
    for (const int64_t n : {1, 15, 16, 17, 300, 1025}) {
      for (const int threads : {1, 2, 7}) {
        const GemmSplit split(m, n, 24, 16, 4, threads);
        std::vector<int> seen(static_cast<size_t>(m * n));
        for (int64_t i = 0; i < split.num_blocks(); ++i) {
          const auto block = split.block(i);
          EXPECT_EQ(block.row % 24, 0);
          EXPECT_EQ(block.column % 16, 0);
          for (int64_t r = block.row; r < block.row + block.rows; ++r) {
            for (int64_t c = block.column; c < block.column + block.columns; ++c) {
              ++seen[static_cast<size_t>(r * n + c)];
            }
          }
        }
        for (const int count : seen) ASSERT_EQ(count, 1) << m << " x " << n;
      }
    }
  }
}

// Several blocks for each thread even out threads of different speed.
TEST(GemmSplit, GivesEveryThreadSeveralBlocksOfALargeProduct) {
  EXPECT_GE(GemmSplit(512, 512, 24, 16, 4, 2).num_blocks(), 16);
  EXPECT_GE(GemmSplit(24, 4096, 24, 16, 4, 4).num_blocks(), 32);
  EXPECT_EQ(GemmSplit(24, 16, 24, 16, 4, 8).num_blocks(), 1);
}

// Every tile and every run once, each kind in its own order.
TEST(PackingChunk, CoversBothOperandsOnce) {
  for (const int64_t tiles : {0, 1, 2, 7, 22, 43}) {
    for (const int64_t runs : {0, 1, 2, 8, 22, 100}) {
      int64_t next_tile = 0, next_run = 0;
      for (int64_t chunk = 0; chunk < tiles + runs; ++chunk) {
        const PackingChunk packed = packing_chunk(chunk, tiles, runs);
        ASSERT_EQ(packed.index, packed.is_tile ? next_tile++ : next_run++);
      }
      EXPECT_EQ(next_tile, tiles);
      EXPECT_EQ(next_run, runs);
    }
  }
}

// What makes panels stay with the thread that multiplies them.
TEST(PackingChunk, EachHalfOfTheChunksHoldsHalfOfTheRuns) {
  for (const auto& [tiles, runs] : {std::pair{22, 8}, {43, 16}, {8, 22}, {1, 6}}) {
    int64_t in_first_half = 0;
    for (int64_t chunk = 0; chunk < (tiles + runs) / 2; ++chunk) {
      if (!packing_chunk(chunk, tiles, runs).is_tile) ++in_first_half;
    }
    EXPECT_NEAR(static_cast<double>(in_first_half), runs / 2.0, 1.0) << tiles << ' ' << runs;
  }
}

TEST(GemmSplit, NothingToMultiplyMakesNoBlocks) {
  for (const auto& [m, n] : {std::pair{0, 5}, {5, 0}, {0, 0}}) {
    const GemmSplit split(m, n, 24, 16, 4, 2);
    EXPECT_EQ(split.num_blocks(), 0);
    EXPECT_EQ(split.fold_elements(), 0);
  }
}

// Tiles are 8, 16, 24 for 24, and 2, 4, 6 for 6.
TEST(GemmTileHeight, TheRestTakesTheSmallestTileThatHoldsIt) {
  EXPECT_EQ(gemm_tile_height(100, 24), 24);
  EXPECT_EQ(gemm_tile_height(24, 24), 24);
  EXPECT_EQ(gemm_tile_height(17, 24), 24);
  EXPECT_EQ(gemm_tile_height(16, 24), 16);
  EXPECT_EQ(gemm_tile_height(8, 24), 8);
  EXPECT_EQ(gemm_tile_height(1, 24), 8);
  EXPECT_EQ(gemm_tile_height(3, 6), 4);
  EXPECT_EQ(gemm_tile_height(2, 6), 2);
  EXPECT_EQ(gemm_padded_rows(512, 24), 512);
  EXPECT_EQ(gemm_padded_rows(49, 24), 56);
}

}  // namespace
}  // namespace quern::cpu
