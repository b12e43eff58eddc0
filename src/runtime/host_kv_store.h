// A paged key-value store in host memory, for the backends that run on the host.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "ops/kv_state.h"
#include "quern/buffer.h"
#include "quern/graph.h"
#include "quern/kv_store.h"
#include "runtime/kv_page_memory.h"

namespace quern {

inline constexpr int64_t kKvPageRows = 64;  // the inner chunk of attention

// A page is kKvPageRows rows of all layers and heads. For layer l and head h of H, at (l * H + h)
// blocks of the same size, rounded up to 64 bytes:
//   keys       float: [key_dim][64], transposed, so that scores vectorise over keys
//   values     float: by row
//   unrotated  by row in f32, where the store keeps them
// Quantised keys and values: KvBlockLayout.
// A page that several sequences hold is read-only until one of them needs its own copy.
//
// Pages are shared by clones and copied when written. One thread only, but kernels of one run may
// read and write disjoint rows from many threads.
class HostKvStore final : public KvStore, public KvState {
 public:
  // From a state of kind "kv": layers, heads, key_dim, value_dim, key_type, value_type and,
  // optionally, keeps_unrotated. Errors: kInvalidArgument, naming state and attribute.
  static Result<std::unique_ptr<HostKvStore>> make(const StateDecl& declaration);

  Result<int32_t> create_sequence() override;
  Result<void> remove_sequence(int32_t sequence) override;
  Result<int32_t> clone_sequence(int32_t sequence) override;
  Result<void> swap_sequences(int32_t a, int32_t b) override;
  Result<int64_t> length(int32_t sequence) const override;
  Result<void> reserve(int32_t sequence, int64_t count) override;
  Result<void> commit(int32_t sequence, int64_t count) override;
  Result<void> truncate(int32_t sequence, int64_t length) override;
  Result<void> close_gap(int32_t sequence, int64_t start, int64_t count) override;
  int64_t size_bytes() const override;
  Result<std::vector<std::byte>> export_rows(int32_t sequence) const override;
  Result<int32_t> import_rows(int64_t length, std::span<const std::byte> rows) override;
  KvState* host_state() override { return this; }

  // KvState: what kernels ask for and write. Positions are below capacity(sequence); rows are f32
  // and are converted to and from the stored types. Calls for one row must not overlap.
  int64_t num_heads() const override { return num_heads_; }
  int64_t key_dim() const override { return key_dim_; }
  int64_t value_dim() const override { return value_dim_; }
  int64_t num_layers() const override { return num_layers_; }
  DType key_type() const override { return key_type_; }
  DType value_type() const override { return value_type_; }
  int64_t capacity(int64_t sequence) const override;
  void write(int64_t layer, int64_t sequence, int64_t head, int64_t position,
             std::span<const float> key, std::span<const float> value) override;
  void read_key(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                std::span<float> key) const override;
  void read_value(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                  std::span<float> value) const override;
  bool keeps_unrotated() const override { return keeps_unrotated_; }
  void write_unrotated(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                       std::span<const float> key) override;
  void read_unrotated(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                      std::span<float> key) const override;
  void write_key(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                 std::span<const float> key) override;
  void read_key_blocks(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                       std::span<std::byte> blocks) const override;

  // Raw blocks for fast kernels: rows page * kKvPageRows to + 63 of the sequence.
  std::byte* key_page(int64_t layer, int64_t sequence, int64_t head, int64_t page) const;
  std::byte* value_page(int64_t layer, int64_t sequence, int64_t head, int64_t page) const;
  // Bytes of one stored row, wherever in the page its parts lie.
  int64_t key_row_bytes() const { return key_row_bytes_; }
  int64_t value_row_bytes() const { return value_row_bytes_; }

 private:
  // Pages in order: row r is row r % kKvPageRows of page r / kKvPageRows.
  struct Sequence {
    // Shared with clones until one writes.
    std::vector<std::shared_ptr<KvPage>> pages;
    // Committed rows, and rows that may be written: length <= reserved.
    int64_t length = 0;
    int64_t reserved = 0;
  };
  HostKvStore() = default;
  // The sequence of this id. Errors: kNotFound.
  Result<Sequence*> find(int32_t sequence);
  Result<const Sequence*> find(int32_t sequence) const;
  // The same for an id that was checked when the run was bound.
  const Sequence& at(int64_t sequence) const;
  // The block of a layer and head in a page: keys, then values, then unrotated keys.
  std::byte* block(int64_t layer, int64_t sequence, int64_t head, int64_t page) const;
  // Gives the sequence its own copy of shared pages from `first` up to `last`, exclusive.
  Result<void> unshare(Sequence& sequence, int64_t first, int64_t last);
  // One stored key, value and unrotated key, end to end: row_bytes() bytes.
  int64_t row_bytes() const { return key_row_bytes_ + value_row_bytes_ + unrotated_row_bytes_; }
  // A row in stored types to and from row_bytes() contiguous bytes; the same for every store of one
  // state, whatever its page layout.
  void copy_row_out(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                    std::byte* row) const;
  // From row_bytes() bytes.
  void copy_row_in(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                   const std::byte* row);
  // A row in stored form, end to end, to and from row `row` of a page.
  void put_key_row(const std::byte* stored, int64_t row, std::byte* keys) const;
  void get_key_row(const std::byte* keys, int64_t row, std::byte* stored) const;
  void put_value_row(const std::byte* stored, int64_t row, std::byte* values) const;
  void get_value_row(const std::byte* values, int64_t row, std::byte* stored) const;
  std::byte* unrotated_row(int64_t layer, int64_t sequence, int64_t head, int64_t position) const;

  int64_t num_layers_ = 0;
  int64_t num_heads_ = 0;
  int64_t key_dim_ = 0;
  int64_t value_dim_ = 0;
  DType key_type_ = DType::kF32;
  DType value_type_ = DType::kF32;
  // Bytes of one row, block and page; see KvPage.
  int64_t key_row_bytes_ = 0;
  int64_t value_row_bytes_ = 0;
  bool keeps_unrotated_ = false;
  int64_t unrotated_row_bytes_ = 0;  // 0 where they are not kept
  int64_t head_block_bytes_ = 0;
  int64_t page_bytes_ = 0;
  // Gives zeroed pages: rows that were never written read as zeros.
  KvPageMemory memory_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // by id; null where removed
};

}  // namespace quern
