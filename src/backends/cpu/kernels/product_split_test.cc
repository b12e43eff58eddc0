// The chunks of a product cover it once, and start where tiles start.
#include "backends/cpu/kernels/product_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace quern::cpu {
namespace {

// 3,072 panels are a large model's; 64 threads are more than most products have chunks for.
TEST(ProductSplit, ChunksCoverEveryPanelAndTokenOnce) {
  for (const int64_t panels : {1, 2, 3, 37, 3072}) {
    for (const int64_t tokens : {1, 7, 8, 9, 120, 513}) {
      for (const int64_t tile : {6, 8, 24}) {
        for (const int threads : {1, 2, 3, 64}) {
          const int64_t at_once = 1 + threads % 2;
          const ProductSize size{.num_panels = panels,
                                 .num_tokens = tokens,
                                 .tile = tile,
                                 .token_block_bytes = 65536,
                                 .bytes_per_token = 4096,
                                 .bytes_per_panel = 18432,
                                 .products_per_panel = 1024,
                                 .panels_at_once = at_once};
          const ProductSplit split(size, threads);
          std::vector<int> times(static_cast<size_t>(panels * tokens));
          for (int64_t i = 0; i < split.num_chunks(); ++i) {
            const ProductRange range = split.chunk(i);
            // A tile that two chunks share would be packed twice.
            EXPECT_EQ(range.token_begin % tile, 0);
            EXPECT_EQ(range.panel_begin % at_once, 0);
            EXPECT_TRUE(range.token_end % tile == 0 || range.token_end == tokens);
            for (int64_t p = range.panel_begin; p < range.panel_end; ++p) {
              for (int64_t t = range.token_begin; t < range.token_end; ++t) {
                ++times[static_cast<size_t>(p * tokens + t)];
              }
            }
          }
          EXPECT_EQ(std::count(times.begin(), times.end(), 1), panels * tokens);
        }
      }
    }
  }
}

TEST(ProductSplit, NothingIsNoChunks) {
  EXPECT_EQ(ProductSplit({.num_panels = 0, .num_tokens = 5}, 2).num_chunks(), 0);
  EXPECT_EQ(ProductSplit({.num_panels = 5, .num_tokens = 0}, 2).num_chunks(), 0);
}

// Handing a chunk to a thread costs more than this product.
TEST(ProductSplit, SmallWorkIsOneChunk) {
  const ProductSize size{.num_panels = 2,
                         .num_tokens = 1,
                         .tile = 8,
                         .token_block_bytes = 65536,
                         .bytes_per_token = 64,
                         .bytes_per_panel = 640,
                         .products_per_panel = 16};
  EXPECT_EQ(ProductSplit(size, 4).num_chunks(), 1);
}

}  // namespace
}  // namespace quern::cpu
