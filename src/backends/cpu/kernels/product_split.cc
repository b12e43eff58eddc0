// Sizes of chunks.
#include "backends/cpu/kernels/product_split.h"

#include <algorithm>

#include "base/checked_math.h"

namespace quern::cpu {
namespace {

// A chunk is worth this many bytes of weights, about 3 us where memory is fast, or vector
// multiplications, again 3 us. Shorter streams of weights do not reach the speed of memory (Zen 4:
// 92 % with 48 KB, 96 % with 96 KB).
constexpr int64_t kChunkBytes = int64_t{96} << 10;
constexpr int64_t kChunkProducts = 12000;
// Enough chunks for a thread that is slowed down by others to leave work to the rest.
constexpr int64_t kChunksPerThread = 8;
// With few tokens, threads that walk near each other through the weights read faster: at most this
// many bytes of weights in a chunk (Zen 4: +8 % for a matrix of 30 MB).
constexpr int64_t kMostChunkBytes = int64_t{512} << 10;

}  // namespace

ProductSplit::ProductSplit(const ProductSize& size, int num_threads)
    : num_panels_(size.num_panels),
      num_tokens_(size.num_tokens),
      panels_at_once_(size.panels_at_once) {
  if (size.num_panels == 0 || size.num_tokens == 0) return;
  const int64_t fitting = size.token_block_bytes / std::max<int64_t>(1, size.bytes_per_token);
  const int64_t tiles = std::max<int64_t>(1, fitting / size.tile);
  // Blocks of equal numbers of tiles.
  const int64_t all_tiles = ceil_divide(size.num_tokens, size.tile);
  num_token_blocks_ = ceil_divide(all_tiles, tiles);
  tokens_per_block_ = ceil_divide(all_tiles, num_token_blocks_) * size.tile;
  num_token_blocks_ = ceil_divide(size.num_tokens, tokens_per_block_);

  const int64_t tokens = std::min(tokens_per_block_, size.num_tokens);
  const int64_t by_bytes = ceil_divide(kChunkBytes, std::max<int64_t>(1, size.bytes_per_panel));
  const int64_t by_products =
      ceil_divide(kChunkProducts, std::max<int64_t>(1, size.products_per_panel * tokens));
  const int64_t least = std::max<int64_t>(1, std::min(by_bytes, by_products));
  const int64_t by_size = size.num_panels * size.bytes_per_panel / kMostChunkBytes;
  const int64_t wanted =
      num_threads == 1
          ? 1
          : std::max(by_size, ceil_divide(kChunksPerThread * num_threads, num_token_blocks_));
  const int64_t most = std::min(wanted, ceil_divide(size.num_panels, panels_at_once_));
  num_panel_blocks_ = std::clamp<int64_t>(size.num_panels / least, 1, most);
}

ProductRange ProductSplit::chunk(int64_t index) const {
  const int64_t block = index / num_panel_blocks_;
  const int64_t part = index % num_panel_blocks_;
  const int64_t groups = ceil_divide(num_panels_, panels_at_once_);
  const auto begin_of = [&](int64_t i) {
    return std::min(num_panels_, groups * i / num_panel_blocks_ * panels_at_once_);
  };
  return {
      .panel_begin = begin_of(part),
      .panel_end = begin_of(part + 1),
      .token_begin = block * tokens_per_block_,
      .token_end = std::min(num_tokens_, (block + 1) * tokens_per_block_),
  };
}

}  // namespace quern::cpu
