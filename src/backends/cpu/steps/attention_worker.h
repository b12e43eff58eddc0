// One thread's walk of a tile of query rows over the pages of a cache.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/steps/attention_tiles.h"
#include "backends/cpu/steps/integer_queries.h"
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

// Pages of a tile's keys; no tile: none.
struct TilePages {
  const AttentionTile* tile = nullptr;
  PageRange pages;
};

// Owned by one thread at a time.
class AttentionWorker {
 public:
  // Memory that a worker needs, given at its construction.
  static int64_t scratch_bytes(const HostKvStore& store);
  AttentionWorker(const AttentionJob& job, std::byte* scratch);

  // The whole tile: all outer chunks in order, then the output.
  void run(const AttentionTile& tile);
  // Pages of one outer chunk into `state`. `next` is what this worker walks after them, perhaps:
  // its first pages are read ahead.
  void walk(const AttentionTile& tile, PageRange pages, const AttentionState& state,
            TilePages next = {});
  // Joins the states of all parts of a tile, which lie `stride_bytes` apart: those of an outer
  // chunk, then the chunks, in order. Then writes the output.
  void join_parts(const AttentionTile& tile, const TileParts& parts, std::byte* states,
                  int64_t stride_bytes);

 private:
  // Copies or quantises the tile's queries into kernel layout.
  void load_queries(const AttentionTile& tile);
  // Whether the page was read ahead as page `index` of a run.
  bool is_ahead(const std::byte* block, int64_t index) const;
  // Points run_ at pages, and ahead_ at those of the run after it.
  void set_run(const AttentionTile& tile, PageRange pages, TilePages next);
  void set_ahead(TilePages next);
  // The visible keys of the page, in the run's terms.
  void set_page(const AttentionTile& tile, int64_t page, AttentionPage& place);
  // Reads a page as fast as the processor can, where nothing read it ahead.
  void begin_page(const std::byte* block) const;
  // The keys of a page, and behind them its values.
  const std::byte* block_of(const AttentionTile& tile, int64_t page) const;
  int64_t block_bytes() const;
  // Values whose rows are not whole vectors as f32.
  const void* widened_values(const std::byte* values);
  // Scores of the tile's rows with the keys of the run.
  void dot_keys();
  // left = left (+) right.
  void join(const AttentionTile& tile, const AttentionState& left,
            const AttentionState& right) const;
  // Divides by the sums and writes the rows of the output.
  void finish(const AttentionTile& tile, const AttentionState& state);
  // The state before the first key.
  void clear(const AttentionState& state) const;

  const AttentionJob& job_;
  AttentionRun run_;
  const AttentionTile* loaded_ = nullptr;  // the tile whose queries are in place
  ReadAhead ahead_;
  float* query_;
  float* row_;                                     // a query before it becomes a column
  float* values_;                                  // a page of values as f32
  std::optional<IntegerQueries> integer_queries_;  // for quantised keys
  float* results_;                                 // rows of the output before they are narrowed
  std::byte* inner_;
  std::byte* total_;
};

}  // namespace quern::cpu
