// Key-value caches of many sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quern/dtype.h"
#include "quern/error.h"

namespace quern {

class KvState;

// Sequences grow at their end. A run writes rows at positions that were reserved; commit() makes
// them part of the sequence. Made by Device::make_kv_store; one thread only.
class KvStore {
 public:
  virtual ~KvStore() = default;
  // A new empty sequence; its id is what the graph's input `sequences` holds.
  virtual Result<int32_t> create_sequence() = 0;
  virtual Result<void> remove_sequence(int32_t sequence) = 0;
  // A sequence with the same content; pages are shared until one of the two is written.
  virtual Result<int32_t> clone_sequence(int32_t sequence) = 0;
  // Committed rows. Errors of every call: kNotFound for an unknown sequence.
  virtual Result<int64_t> length(int32_t sequence) const = 0;
  // Makes room for `count` rows after the committed ones. Errors: kResourceExhausted.
  virtual Result<void> reserve(int32_t sequence, int64_t count) = 0;
  // Appends `count` written rows to the sequence. Errors: kOutOfRange beyond the reserved rows.
  virtual Result<void> commit(int32_t sequence, int64_t count) = 0;
  // Cuts the sequence to `length` rows.
  virtual Result<void> truncate(int32_t sequence, int64_t length) = 0;
  // Drops rows start .. start + count - 1 and closes the gap. Rows behind it keep the rotation of
  // their old positions; rotate them anew from their unrotated form before the next run.
  virtual Result<void> close_gap(int32_t sequence, int64_t start, int64_t count) = 0;
  virtual int64_t size_bytes() const = 0;
  // The committed rows as bytes: for each layer and head all keys, values and, where kept,
  // unrotated keys, each by row in the store's types. The same for every store of one state.
  virtual Result<std::vector<std::byte>> export_rows(int32_t sequence) const = 0;
  // A new sequence with such rows. Errors: a size that does not fit `length` rows.
  virtual Result<int32_t> import_rows(int64_t length, std::span<const std::byte> rows) = 0;
  // What kernels of host backends read and write; null for stores in device memory.
  virtual KvState* host_state() { return nullptr; }
};

}  // namespace quern
