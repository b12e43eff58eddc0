// Rows go part by part: the place in the row's blocks, the place in the page, the size.
#include "runtime/kv_block_layout.h"

#include <cstring>

#include "runtime/host_kv_store.h"

namespace quern {
namespace {

constexpr int64_t kScaleBytes = 2;
constexpr int64_t kWordBytes = 4;

// A part from the row's blocks to the page, and back.
struct Put {
  const std::byte* row;
  std::byte* page;
  void operator()(int64_t in_row, int64_t in_page, int64_t size) const {
    std::memcpy(page + in_page, row + in_row, static_cast<size_t>(size));
  }
};
struct Get {
  const std::byte* page;
  std::byte* row;
  void operator()(int64_t in_row, int64_t in_page, int64_t size) const {
    std::memcpy(row + in_row, page + in_page, static_cast<size_t>(size));
  }
};

}  // namespace

KvBlockLayout::KvBlockLayout(DType dtype, int64_t row_bytes)
    : num_blocks_(row_bytes / dtype_info(dtype).block_bytes),
      code_bytes_(dtype_info(dtype).block_bytes - kScaleBytes) {}

// move(offset in the row, offset in the page, bytes)
template <class Move>
void KvBlockLayout::for_key_parts(int64_t row, Move&& move) const {
  const int64_t block_bytes = kScaleBytes + code_bytes_;
  for (int64_t b = 0; b < num_blocks_; ++b) {
    const int64_t block = b * block_bytes;
    const int64_t scales = block * kKvPageRows;
    const int64_t words = scales + kScaleBytes * kKvPageRows;
    move(block, scales + row * kScaleBytes, kScaleBytes);
    for (int64_t byte = 0; byte < code_bytes_; byte += kWordBytes) {
      move(block + kScaleBytes + byte, words + byte * kKvPageRows + row * kWordBytes, kWordBytes);
    }
  }
}

template <class Move>
void KvBlockLayout::for_value_parts(int64_t row, Move&& move) const {
  const int64_t codes = num_blocks_ * (kScaleBytes * kKvPageRows + row * code_bytes_);
  for (int64_t b = 0; b < num_blocks_; ++b) {
    const int64_t block = b * (kScaleBytes + code_bytes_);
    move(block, (b * kKvPageRows + row) * kScaleBytes, kScaleBytes);
    move(block + kScaleBytes, codes + b * code_bytes_, code_bytes_);
  }
}

void KvBlockLayout::put_key(const std::byte* blocks, int64_t row, std::byte* keys) const {
  for_key_parts(row, Put{blocks, keys});
}

void KvBlockLayout::get_key(const std::byte* keys, int64_t row, std::byte* blocks) const {
  for_key_parts(row, Get{keys, blocks});
}

void KvBlockLayout::put_value(const std::byte* blocks, int64_t row, std::byte* values) const {
  for_value_parts(row, Put{blocks, values});
}

void KvBlockLayout::get_value(const std::byte* values, int64_t row, std::byte* blocks) const {
  for_value_parts(row, Get{values, blocks});
}

}  // namespace quern
