// Filling of the table of merges.
// Half of the slots stay empty, so that searches are short.
#include "text/merge_table.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace quern {

// The number of slots is a power of two, at most half of them full.
MergeTable::MergeTable(size_t num_merges)
    : slots_(std::bit_ceil(std::max<size_t>(num_merges * 2, 16))), mask_(slots_.size() - 1) {}

// The first of equal pairs counts.
void MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  QUERN_DCHECK(left >= 0 && right >= 0);
  const uint64_t key = key_of(left, right);
  size_t i = hash(key) & mask_;
  while (slots_[i].key != kEmpty && slots_[i].key != key) i = (i + 1) & mask_;
  if (slots_[i].key == kEmpty) slots_[i] = {key, merge};
}

}  // namespace quern
