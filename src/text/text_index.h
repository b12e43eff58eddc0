// A hash table from texts to ids, for vocabularies: fast to fill, fast to miss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern {

// Keys are borrowed: they must live as long as the index. Thread-safe for find().
class TextIndex {
 public:
  // Room for `num_keys` keys without growing.
  explicit TextIndex(size_t num_keys = 0);

  // Adds the key with a non-negative id unless the key is there; returns the id that is stored now.
  int32_t insert(std::string_view key, int32_t id);
  // The id of the key, or -1.
  int32_t find(std::string_view key) const;
  // Keys, not slots.
  size_t size() const { return count_; }

 private:
  // Points at the key's bytes, which the caller keeps.
  struct Slot {
    const char* data = nullptr;
    uint32_t size = 0;
    int32_t id = -1;  // -1: empty
  };
  // Linear probing.
  size_t slot_of(std::string_view key) const;
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most 3/4 full
  // Keys in the table.
  size_t count_ = 0;
};

}  // namespace quern
