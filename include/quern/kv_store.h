// Key-value caches of many sequences: the state that attention reads and extends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quern/dtype.h"
#include "quern/error.h"

namespace quern {

class KvState;

// A row is the keys and values of one token for all layers and heads. Sequences grow at their end:
//   reserve(s, n)  ->  run writes rows length .. length + n - 1  ->  commit(s, m), m <= n
// Rows that were reserved and not committed are not part of the sequence and may be written again.
// Made by Device::make_kv_store for the state that a graph declares; the caller owns it and binds
// it in RunArguments::states. One thread only.
// Errors of every call with a sequence: kNotFound where there is none of this id.
class KvStore {
 public:
  virtual ~KvStore() = default;
  // A new empty sequence; its id is what the graph's input `sequences` holds.
  virtual Result<int32_t> create_sequence() = 0;
  // Frees its pages, but those that a clone shares. The id may be given out again.
  virtual Result<void> remove_sequence(int32_t sequence) = 0;
  // A sequence with the same content; pages are shared until one of the two is written.
  virtual Result<int32_t> clone_sequence(int32_t sequence) = 0;
  // Each of the two ids names what the other one named; no rows move.
  virtual Result<void> swap_sequences(int32_t a, int32_t b) = 0;
  // Committed rows.
  virtual Result<int64_t> length(int32_t sequence) const = 0;
  // Makes room for `count` rows after the committed ones, 0 or more.
  // Errors: kInvalidArgument for a negative or absurd count, kResourceExhausted.
  virtual Result<void> reserve(int32_t sequence, int64_t count) = 0;
  // Appends `count` written rows to the sequence. Errors: kOutOfRange beyond the reserved rows.
  virtual Result<void> commit(int32_t sequence, int64_t count) = 0;
  // Cuts the sequence to its first `length` rows; reserved rows are given up.
  // Errors: kOutOfRange unless 0 <= length <= length(sequence).
  virtual Result<void> truncate(int32_t sequence, int64_t length) = 0;
  // Drops rows start .. start + count - 1 and closes the gap. Rows behind it keep the rotation of
  // their old positions; rotate them anew from their unrotated form before the next run.
  // Errors: kOutOfRange for rows beyond the committed ones.
  virtual Result<void> close_gap(int32_t sequence, int64_t start, int64_t count) = 0;
  // Memory held by all sequences; shared pages count once.
  virtual int64_t size_bytes() const = 0;
  // The committed rows as bytes: for each layer and head all keys, values and, where kept,
  // unrotated keys, each by row in the store's types. The same for every store of one state.
  virtual Result<std::vector<std::byte>> export_rows(int32_t sequence) const = 0;
  // A new sequence with such rows, all committed.
  // Errors: kInvalidArgument for a size that does not fit `length` rows, kResourceExhausted.
  virtual Result<int32_t> import_rows(int64_t length, std::span<const std::byte> rows) = 0;
  // What kernels of host backends read and write; null for stores in device memory.
  virtual KvState* host_state() { return nullptr; }
};

}  // namespace quern
