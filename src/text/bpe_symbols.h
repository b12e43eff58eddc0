// The symbols of a byte-level vocabulary: its tokens, the 256 bytes, and what merges make of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/error.h"
#include "text/merge_table.h"
#include "text/token_table.h"

namespace quern {

// Symbols below table.size() are tokens with the same id; a file may have merges into symbols that
// are none. Thread-safe after construction.
class BpeSymbols {
 public:
  // Errors: kInvalidArgument for a merge without two sides.
  //   symbol  0 ... table.size() - 1   tokens
  //           table.size() ...         bytes without a token, and results of merges that are none
  static Result<BpeSymbols> make(const TokenTable& table, std::span<const std::string> merges);

  // Null where the two do not merge.
  const Merge* find_merge(int32_t left, int32_t right) const { return merges_.find(left, right); }
  // What a byte is before any merge.
  int32_t symbol_of_byte(uint8_t byte) const { return bytes_[byte]; }
  // Whether the symbol stands in the vocabulary; others exist only on the way to larger ones.
  bool is_token(int32_t symbol) const { return symbol < num_tokens_; }
  // Byte-level vocabularies have all 256; broken ones may not.
  bool has_token_of_byte(uint8_t byte) const { return is_token(bytes_[byte]); }
  // Many vocabularies lack those that never stand in UTF-8 (C0, C1, F5 to FF) or are rare.
  bool lacks_bytes() const {
    return !std::all_of(bytes_.begin(), bytes_.end(), [this](int32_t s) { return is_token(s); });
  }

 private:
  BpeSymbols() = default;
  // Of symbols, by pair.
  MergeTable merges_;
  std::array<int32_t, 256> bytes_{};
  // Symbols below are tokens.
  int32_t num_tokens_ = 0;
};

}  // namespace quern
