// The merges of a BPE vocabulary: which two symbols join, how early, and into what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern {

// `priority`: the lower, the earlier. `merged`: the id of the joined symbol.
struct Merge {
  // Lower merges first.
  uint32_t priority;
  // The symbol that the pair becomes.
  int32_t merged;
};

// Hash table from (left, right) to Merge. Thread-safe for find().
class MergeTable {
 public:
  // Room for `num_merges` pairs and no more.
  explicit MergeTable(size_t num_merges = 0);
  // Ids are non-negative. The first of equal pairs stays. At most `num_merges` of the constructor.
  void insert(int32_t left, int32_t right, Merge merge);
  // Null when the two do not join.
  const Merge* find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    // Ends, since at least half of the slots are empty.
    for (size_t i = hash(key) & mask_;; i = (i + 1) & mask_) {
      // First: two symbols of -1, which stand for unknown characters, have the key of no pair.
      if (slots_[i].key == kEmpty) return nullptr;
      if (slots_[i].key == key) return &slots_[i].merge;
    }
  }

 private:
  // The key of (-1, -1), which is no pair.
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  // Open addressing with linear probing.
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge{0, -1};
  };
  // Both symbols in one number.
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  // Spreads the bits; the keys come from files, so that collisions cost time and nothing else.
  static uint64_t hash(uint64_t key) {
    key *= 0x9e3779b97f4a7c15ULL;
    return key ^ (key >> 32);
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  // Slots minus one.
  size_t mask_;
};

}  // namespace quern
