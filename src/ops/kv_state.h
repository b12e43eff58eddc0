// What operations on a key-value cache need of it; the runtime's stores implement this.
#pragma once

#include <cstdint>
#include <span>

#include "quern/dtype.h"

namespace quern {

// Keys and values of several layers and sequences. Rows of one head: key_dim or value_dim floats.
// Key index = position in the sequence, from 0. Positions in range are checked by the caller's
// plan: capacity(sequence) rows may be written.
class KvState {
 public:
  virtual ~KvState() = default;
  virtual int64_t num_heads() const = 0;
  virtual int64_t key_dim() const = 0;
  virtual int64_t value_dim() const = 0;
  virtual int64_t num_layers() const = 0;
  virtual DType key_type() const = 0;
  virtual DType value_type() const = 0;
  // Rows that may be written in the sequence; -1 for an unknown sequence.
  virtual int64_t capacity(int64_t sequence) const = 0;

  // Stores one row, rounded or quantised to the store's types.
  virtual void write(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                     std::span<const float> key, std::span<const float> value) = 0;
  // One stored key row, widened or dequantised to f32.
  virtual void read_key(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                        std::span<float> key) const = 0;
  virtual void read_value(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                          std::span<float> value) const = 0;
  // Keys before their rotation, in f32, kept so that rows can move to other positions. The calls
  // below them need keeps_unrotated().
  virtual bool keeps_unrotated() const { return false; }
  virtual void write_unrotated(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                               std::span<const float> key);
  virtual void read_unrotated(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                              std::span<float> key) const;
  // Replaces the stored key of a row and leaves its value.
  virtual void write_key(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                         std::span<const float> key);
  // A quantised key row, its blocks of key_type end to end: key_dim padded with zeros to whole
  // blocks, which `blocks` holds exactly.
  virtual void read_key_blocks(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                               std::span<std::byte> blocks) const = 0;
};

}  // namespace quern
