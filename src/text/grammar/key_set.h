// A set of 64-bit keys that is emptied at no cost: for marks in short searches that repeat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace quern {

// Open addressing; an entry counts only if its stamp is that of the current round.
class KeySet {
 public:
  // A set of numbers that is emptied often: clearing it costs nothing.
  KeySet() : entries_(kFirstSize) {}

  // Entries of older stamps are empty.
  void clear() {
    size_ = 0;
    // After 2^32 clears old stamps would count again.
    if (++stamp_ == 0) {
      entries_.assign(entries_.size(), {});
      stamp_ = 1;
    }
  }
  // False when it was there.
  bool insert(uint64_t key) {
    if (size_ * 2 >= entries_.size()) grow();
    return insert_without_growth(key);
  }

 private:
  // A key counts where its stamp is the current one.
  struct Entry {
    uint64_t key = 0;
    uint32_t stamp = 0;
  };
  static constexpr size_t kFirstSize = 256;  // a power of two, as all sizes

  // Whether it is new. There is room.
  bool insert_without_growth(uint64_t key) {
    const size_t mask = entries_.size() - 1;
    size_t i = static_cast<size_t>((key * 0x9E3779B97F4A7C15ULL) >> 32) & mask;
    for (; entries_[i].stamp == stamp_; i = (i + 1) & mask) {
      if (entries_[i].key == key) return false;
    }
    entries_[i] = {key, stamp_};
    ++size_;
    return true;
  }
  // Twice the size.
  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    size_ = 0;
    for (const Entry& entry : old) {
      if (entry.stamp == stamp_) insert_without_growth(entry.key);
    }
  }

  // Open addressing; the size is a power of two.
  std::vector<Entry> entries_;
  uint32_t stamp_ = 1;
  size_t size_ = 0;
};

}  // namespace quern
