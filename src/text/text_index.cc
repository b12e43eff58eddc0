// Open addressing with linear probing; the hash reads eight bytes at a time.
// Keys are not copied: they live in the vocabulary.
#include "text/text_index.h"

#include <bit>
#include <cstring>

namespace quern {
namespace {

// A step of the hash: multiplies and folds.
uint64_t mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ULL;
  return h ^ (h >> 32);
}

// Eight bytes at a time. Texts come from model files: collisions cost time only.
uint64_t hash_text(std::string_view text) {
  uint64_t h = text.size() * 0x9e3779b97f4a7c15ULL;
  const char* p = text.data();
  size_t rest = text.size();
  for (; rest >= 8; rest -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    h = mix(h ^ word);
  }
  uint64_t word = 0;
  // The size is in the hash already, so that trailing zero bytes make a difference.
  if (rest > 0) std::memcpy(&word, p, rest);
  return mix(h ^ word);
}

// A power of two.
constexpr size_t kMinSlots = 16;

}  // namespace

// Room for `num_keys` without growing.
TextIndex::TextIndex(size_t num_keys)
    : slots_(std::bit_ceil(std::max(kMinSlots, num_keys + num_keys / 3 + 1))) {}

// The slot of the key, or the empty one where it would go.
size_t TextIndex::slot_of(std::string_view key) const {
  const size_t mask = slots_.size() - 1;
  size_t i = hash_text(key) & mask;
  while (slots_[i].id >= 0 && std::string_view(slots_[i].data, slots_[i].size) != key) {
    i = (i + 1) & mask;
  }
  return i;
}

// -1 for a key that is not there.
int32_t TextIndex::find(std::string_view key) const {
  return slots_[slot_of(key)].id;
}

// The id that the key has: the first one given.
int32_t TextIndex::insert(std::string_view key, int32_t id) {
  // Past 3/4 full, runs of linear probing grow long.
  if ((count_ + 1) * 4 > slots_.size() * 3) grow();
  Slot& slot = slots_[slot_of(key)];
  if (slot.id >= 0) return slot.id;
  slot = {key.data(), static_cast<uint32_t>(key.size()), id};
  ++count_;
  return id;
}

// Twice the slots.
void TextIndex::grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_ = std::vector<Slot>(old.size() * 2);
  for (const Slot& slot : old) {
    if (slot.id >= 0) slots_[slot_of({slot.data, slot.size})] = slot;
  }
}

}  // namespace quern
