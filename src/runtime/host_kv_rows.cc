// Moving, exporting and importing rows of the host's key-value store.
// Rows travel in one layout that all stores of a declaration understand.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "runtime/host_kv_store.h"
#include "runtime/kv_block_layout.h"

namespace quern {

// Float keys lie in columns: element d of a row is 64 elements behind element d - 1.
void HostKvStore::put_key_row(const std::byte* stored, int64_t row, std::byte* keys) const {
  if (is_quantized(key_type_)) {
    KvBlockLayout(key_type_, key_row_bytes_).put_key(stored, row, keys);
    return;
  }
  const int64_t size = dtype_info(key_type_).block_bytes;
  for (int64_t d = 0; d < key_dim_; ++d) {
    std::memcpy(keys + (d * kKvPageRows + row) * size, stored + d * size,
                static_cast<size_t>(size));
  }
}

void HostKvStore::get_key_row(const std::byte* keys, int64_t row, std::byte* stored) const {
  if (is_quantized(key_type_)) {
    KvBlockLayout(key_type_, key_row_bytes_).get_key(keys, row, stored);
    return;
  }
  const int64_t size = dtype_info(key_type_).block_bytes;
  for (int64_t d = 0; d < key_dim_; ++d) {
    std::memcpy(stored + d * size, keys + (d * kKvPageRows + row) * size,
                static_cast<size_t>(size));
  }
}

// Float values stay by row: the weighted sum walks keys and adds whole rows.
void HostKvStore::put_value_row(const std::byte* stored, int64_t row, std::byte* values) const {
  if (is_quantized(value_type_)) {
    KvBlockLayout(value_type_, value_row_bytes_).put_value(stored, row, values);
    return;
  }
  std::memcpy(values + row * value_row_bytes_, stored, static_cast<size_t>(value_row_bytes_));
}

void HostKvStore::get_value_row(const std::byte* values, int64_t row, std::byte* stored) const {
  if (is_quantized(value_type_)) {
    KvBlockLayout(value_type_, value_row_bytes_).get_value(values, row, stored);
    return;
  }
  std::memcpy(stored, values + row * value_row_bytes_, static_cast<size_t>(value_row_bytes_));
}

// The row's parts: key, value, unrotated key.
void HostKvStore::copy_row_out(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                               std::byte* row) const {
  const int64_t page = position / kKvPageRows;
  const int64_t in_page = position % kKvPageRows;
  get_key_row(key_page(layer, sequence, head, page), in_page, row);
  row += key_row_bytes_;
  get_value_row(value_page(layer, sequence, head, page), in_page, row);
  if (!keeps_unrotated_) return;
  std::memcpy(row + value_row_bytes_, unrotated_row(layer, sequence, head, position),
              static_cast<size_t>(unrotated_row_bytes_));
}

void HostKvStore::copy_row_in(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                              const std::byte* row) {
  const int64_t page = position / kKvPageRows;
  const int64_t in_page = position % kKvPageRows;
  put_key_row(row, in_page, key_page(layer, sequence, head, page));
  row += key_row_bytes_;
  put_value_row(row, in_page, value_page(layer, sequence, head, page));
  if (!keeps_unrotated_) return;
  std::memcpy(unrotated_row(layer, sequence, head, position), row + value_row_bytes_,
              static_cast<size_t>(unrotated_row_bytes_));
}

// memmove over the page would not do, since the parts of rows lie in columns.
// Row by row through a buffer: source and target are often in one page.
Result<void> HostKvStore::close_gap(int32_t sequence, int64_t start, int64_t count) {
  QUERN_ASSIGN_OR_RETURN(Sequence * found, find(sequence));
  if (start < 0 || count < 0 || start > found->length || count > found->length - start) {
    return fail::out_of_range("{} rows from {} cannot be dropped from a sequence of {}.", count,
                              start, found->length);
  }
  // Pages from the first that changes are made the sequence's own; those behind the new end go.
  const int64_t length = found->length - count;
  // From the page of the first moved row. Pages before it keep being shared with clones.
  QUERN_TRY(unshare(*found, start / kKvPageRows, ceil_divide(length, kKvPageRows)));
  std::vector<std::byte> row(static_cast<size_t>(row_bytes()));
  for (int64_t layer = 0; layer < num_layers_; ++layer) {
    for (int64_t head = 0; head < num_heads_; ++head) {
      // Ascending, so that a row is read before it is overwritten.
      for (int64_t position = start; position < length; ++position) {
        copy_row_out(layer, sequence, head, position + count, row.data());
        copy_row_in(layer, sequence, head, position, row.data());
      }
    }
  }
  // Frees the pages behind the new end and gives up reserved rows.
  return truncate(sequence, length);
}

// Order: layer, head, position.
Result<std::vector<std::byte>> HostKvStore::export_rows(int32_t sequence) const {
  QUERN_ASSIGN_OR_RETURN(const Sequence* found, find(sequence));
  // Rows exist in memory, so that their bytes fit in int64.
  const int64_t count = num_layers_ * num_heads_ * found->length;
  std::vector<std::byte> rows(static_cast<size_t>(count * row_bytes()));
  std::byte* row = rows.data();
  for (int64_t layer = 0; layer < num_layers_; ++layer) {
    for (int64_t head = 0; head < num_heads_; ++head) {
      for (int64_t position = 0; position < found->length; ++position, row += row_bytes()) {
        copy_row_out(layer, sequence, head, position, row);
      }
    }
  }
  return rows;
}

// Checks sizes before it makes a sequence.
Result<int32_t> HostKvStore::import_rows(int64_t length, std::span<const std::byte> rows) {
  const auto per_layer = checked_multiply(length, num_heads_ * row_bytes());
  // length < 0 is checked after the products, which checked_multiply takes in its stride.
  const auto wanted = per_layer ? checked_multiply(*per_layer, num_layers_) : std::nullopt;
  // Sizes from files: products are checked before they are compared.
  if (length < 0 || !wanted || *wanted != static_cast<int64_t>(rows.size())) {
    return fail::invalid("{} bytes do not hold {} rows of {} layers with {} heads of {} bytes.",
                         rows.size(), length, num_layers_, num_heads_, row_bytes());
  }
  QUERN_ASSIGN_OR_RETURN(const int32_t sequence, create_sequence());
  const auto reserved = reserve(sequence, length);
  if (!reserved) {
    // Import succeeds as a whole or leaves the store as it was.
    QUERN_TRY(remove_sequence(sequence));  // the caller never learns its id
    return tl::unexpected(reserved.error());
  }
  const std::byte* row = rows.data();
  for (int64_t layer = 0; layer < num_layers_; ++layer) {
    for (int64_t head = 0; head < num_heads_; ++head) {
      for (int64_t position = 0; position < length; ++position, row += row_bytes()) {
        copy_row_in(layer, sequence, head, position, row);
      }
    }
  }
  QUERN_TRY(commit(sequence, length));
  return sequence;
}

}  // namespace quern
