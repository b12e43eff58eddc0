// One thread's walk of a tile of query rows over the pages of a cache.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/steps/attention_tiles.h"
#include "backends/cpu/steps/integer_keys.h"
#include "ops/kv_places.h"
#include "runtime/host_kv_store.h"

namespace quern::cpu {

// What all tiles of a run share.
struct AttentionJob {
  const KernelTable& kernels;
  const HostKvStore& store;
  KvPlaces places;
  TensorView q;        // [T, heads, key_dim]
  TensorView out;      // [T, heads, value_dim]
  const float* sinks;  // [heads], or null
  int64_t layer;
  int64_t window;  // 0: none
  float scale;
  float soft_cap;  // 0: none
  int query_bits;  // of quantised queries, where keys are quantised
};

// Elements between rows of partial sums: whole vectors of every level.
int64_t attention_row_stride(const HostKvStore& store);

// Memory of the state of a tile; see AttentionState.
int64_t attention_state_bytes(int64_t row_stride);
AttentionState attention_state_at(std::byte* memory);

// A page of a tile's keys; no tile: none.
struct TilePage {
  const AttentionTile* tile = nullptr;
  int64_t page = 0;
};

// Owned by one thread at a time.
class AttentionWorker {
 public:
  // Memory that a worker needs, given at its construction.
  static int64_t scratch_bytes(const HostKvStore& store);
  AttentionWorker(const AttentionJob& job, std::byte* scratch);

  // The whole tile: all outer chunks in order, then the output.
  void run(const AttentionTile& tile);
  // Pages of one outer chunk into `state`. `next` is the page that this worker walks after them,
  // which is read ahead.
  void walk(const AttentionTile& tile, PageRange pages, const AttentionState& state,
            TilePage next = {});
  // Joins the states of all parts of a tile, which lie `stride_bytes` apart: those of an outer
  // chunk, then the chunks, in order. Then writes the output.
  void join_parts(const AttentionTile& tile, const TileParts& parts, std::byte* states,
                  int64_t stride_bytes);

 private:
  // Copies or quantises the tile's queries into kernel layout.
  void load_queries(const AttentionTile& tile);
  // Points page_ at the keys and values of a page, widened or unpacked where kernels cannot read
  // them, and at those of the next.
  void set_page(const AttentionTile& tile, int64_t page, TilePage next);
  // Reads a page ahead as fast as the processor can, where nothing did it before.
  void begin_page(const std::byte* block) const;
  // The keys of a page, and with them its values.
  const std::byte* block_of(TilePage place) const;
  // The first `rows` values of a page as f32; reads those of `next` ahead.
  const void* widened_values(const std::byte* values, const std::byte* next, int64_t rows);
  // Scores of the tile's rows with the page's keys.
  void dot_keys();
  // left = left (+) right.
  void join(const AttentionTile& tile, const AttentionState& left,
            const AttentionState& right) const;
  // Divides by the sums and writes the rows of the output.
  void finish(const AttentionTile& tile, const AttentionState& state);
  // The state before the first key.
  void clear(const AttentionState& state) const;

  const AttentionJob& job_;
  AttentionPage page_;
  const AttentionTile* loaded_ = nullptr;  // the tile whose queries are in place
  const std::byte* ahead_ = nullptr;       // the page that was read ahead
  int32_t first_[kMaxTileRows];
  int32_t last_[kMaxTileRows];
  float* query_;
  float* row_;     // a query before it becomes a column
  float* values_;  // a page of values as f32, where kernels cannot read the cache
  std::optional<IntegerKeys> integer_keys_;  // for quantised keys
  float* results_;                           // rows of the output before they are narrowed
  std::byte* inner_;
  std::byte* total_;
};

}  // namespace quern::cpu
