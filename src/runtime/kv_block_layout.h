// Where the parts of quantised rows lie in a page of a host key-value store.
// Scales stand apart from codes, so that kernels read whole vectors of either.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quern/dtype.h"

namespace quern {

// A row of blocks of one format: a scale of 2 bytes, then codes. For pages of 64 rows:
//   keys     for each block: scales [64], then words of four code bytes [words of a block][64], so
//            that scores vectorise over keys
//   values   scales [blocks of a row][64], then the codes of each row, all its blocks end to end
// Both take 64 times the bytes of a row.
class KvBlockLayout {
 public:
  // `dtype` is a format of 32 elements with an f16 scale before its codes; `row_bytes` are whole
  // blocks.
  KvBlockLayout(DType dtype, int64_t row_bytes);

  // One row between its blocks end to end (row_bytes) and row `row` of a page, 0 to 63.
  void put_key(const std::byte* blocks, int64_t row, std::byte* keys) const;
  void get_key(const std::byte* keys, int64_t row, std::byte* blocks) const;
  void put_value(const std::byte* blocks, int64_t row, std::byte* values) const;
  void get_value(const std::byte* values, int64_t row, std::byte* blocks) const;

 private:
  template <class Move>
  void for_key_parts(int64_t row, Move&& move) const;
  template <class Move>
  void for_value_parts(int64_t row, Move&& move) const;

  int64_t num_blocks_;
  int64_t code_bytes_;  // of a block
};

}  // namespace quern
