// A key-value state in plain vectors: the smallest thing that operations on caches can run on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/checked_math.h"
#include "ops/kv_state.h"
#include "tensor/block_format.h"

namespace quern::test {

// Holds `num_sequences` sequences with room for `rows` rows each. Rows that were never written
// read as zeros. Any types with an encoder.
class MemoryKv final : public KvState {
 public:
  struct Options {
    int64_t layers = 1, heads = 1, key_dim = 1, value_dim = 1;
    int64_t num_sequences = 1, rows = 1;
    DType key_type = DType::kF32, value_type = DType::kF32;
  };
  explicit MemoryKv(Options options) : options_(options) {}

  int64_t num_heads() const override { return options_.heads; }
  int64_t key_dim() const override { return options_.key_dim; }
  int64_t value_dim() const override { return options_.value_dim; }
  int64_t num_layers() const override { return options_.layers; }
  DType key_type() const override { return options_.key_type; }
  DType value_type() const override { return options_.value_type; }
  int64_t capacity(int64_t sequence) const override {
    return sequence >= 0 && sequence < options_.num_sequences ? options_.rows : -1;
  }

  void write(int64_t layer, int64_t sequence, int64_t head, int64_t position,
             std::span<const float> key, std::span<const float> value) override {
    Row& row = rows_[{layer, sequence, head, position}];
    row.key = encode(options_.key_type, key);
    row.value = encode(options_.value_type, value);
  }
  void read_key(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                std::span<float> key) const override {
    decode(options_.key_type, row(layer, sequence, head, position).key, key);
  }
  void read_value(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                  std::span<float> value) const override {
    decode(options_.value_type, row(layer, sequence, head, position).value, value);
  }
  void read_key_blocks(int64_t layer, int64_t sequence, int64_t head, int64_t position,
                       std::span<std::byte> blocks) const override {
    std::ranges::copy(row(layer, sequence, head, position).key, blocks.begin());
  }
  // Rows that were written.
  size_t num_rows() const { return rows_.size(); }

 private:
  struct Row {
    std::vector<std::byte> key, value;
  };
  using Place = std::tuple<int64_t, int64_t, int64_t, int64_t>;

  // A head may be narrower than a block of its format; zeros fill the rest.
  static size_t padded(DType dtype, size_t n) {
    return static_cast<size_t>(round_up(static_cast<int64_t>(n), dtype_info(dtype).block_size));
  }
  static std::vector<std::byte> encode(DType dtype, std::span<const float> values) {
    std::vector<float> whole(values.begin(), values.end());
    whole.resize(padded(dtype, values.size()), 0.0f);
    const DTypeInfo& info = dtype_info(dtype);
    std::vector<std::byte> bytes(whole.size() / static_cast<size_t>(info.block_size) *
                                 static_cast<size_t>(info.block_bytes));
    quantize_row(dtype, whole.data(), bytes.data(), static_cast<int64_t>(whole.size()));
    return bytes;
  }
  static void decode(DType dtype, const std::vector<std::byte>& bytes, std::span<float> out) {
    std::vector<float> whole(padded(dtype, out.size()));
    dequantize_row(dtype, bytes.data(), whole.data(), static_cast<int64_t>(whole.size()));
    std::copy_n(whole.begin(), out.size(), out.begin());
  }
  const Row& row(int64_t layer, int64_t sequence, int64_t head, int64_t position) const {
    const auto it = rows_.find({layer, sequence, head, position});
    return it == rows_.end() ? zero_ : it->second;
  }

  Options options_;
  std::map<Place, Row> rows_;
  // Encoded as any row is, so that unwritten rows have blocks, too.
  Row zero_{
      encode(options_.key_type, std::vector<float>(static_cast<size_t>(options_.key_dim))),
      encode(options_.value_type, std::vector<float>(static_cast<size_t>(options_.value_dim)))};
};

}  // namespace quern::test
