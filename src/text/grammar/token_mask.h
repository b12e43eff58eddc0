// A set of tokens: one bit for each id of a vocabulary.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern {

// A set of token ids. A plain value.
class TokenMask {
 public:
  // Empty, for ids below `vocab_size`.
  explicit TokenMask(int32_t vocab_size = 0)
      : size_(vocab_size), words_((static_cast<size_t>(vocab_size) + 63) / 64) {}

  int32_t vocab_size() const { return size_; }
  // The id must be in the vocabulary.
  void set(int32_t id) { words_[word_of(id)] |= bit_of(id); }
  // False for ids outside.
  bool contains(int32_t id) const {
    return id >= 0 && id < size_ && (words_[word_of(id)] & bit_of(id)) != 0;
  }
  // Of tokens in the set.
  int64_t count() const {
    int64_t count = 0;
    for (const uint64_t word : words_) count += std::popcount(word);
    return count;
  }
  bool is_empty() const { return count() == 0; }
  // By rising id.
  template <class Function>
  void for_each(Function&& function) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t word = words_[w]; word != 0; word &= word - 1) {
        function(static_cast<int32_t>(w * 64 + static_cast<size_t>(std::countr_zero(word))));
      }
    }
  }
  bool operator==(const TokenMask&) const = default;

 private:
  // Place of an id.
  static size_t word_of(int32_t id) { return static_cast<size_t>(id) / 64; }
  static uint64_t bit_of(int32_t id) { return uint64_t{1} << (static_cast<uint32_t>(id) % 64); }

  // And words of 64 ids each.
  int32_t size_;
  std::vector<uint64_t> words_;
};

}  // namespace quern
