// Kernels of attention over cached keys and values at one level, in the order of strict numerics.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

inline constexpr int64_t kPageKeys = 64;  // keys of a page: the inner chunk
inline constexpr int kMaxTileRows = 24;   // query rows that share the loads of keys and values
inline constexpr int kStateRows = 32;     // the same in whole vectors: room in arrays of rows
// Pages that one call walks, where rows times pages are kMaxTileRows at most. With two the chains
// of operations of one page hide in the other's; with more, reading ahead takes longer to begin.
inline constexpr int kMaxRunPages = 2;
// Rows of states and partial sums are this much apart at least: whole vectors of every level.
inline constexpr int64_t kRowAlignment = 16;
inline constexpr int64_t kKeyBlock = 32;  // elements of a quantised row that share a scale

// Element types of keys and values.
enum class CacheType : uint8_t { kF32, kF16, kBF16, kQ8_0, kQ4_0 };

struct AttentionPage {
  const void* keys = nullptr;    // float: [key_dim][64]; quantised: as runtime/kv_block_layout.h
  const void* values = nullptr;  // float: [64][value_stride], whole vectors up to value_dim
                                 // readable; quantised: as runtime/kv_block_layout.h
  // Visible keys of each row: first <= key < last, within 0 .. 64.
  int32_t first[kMaxTileRows];
  int32_t last[kMaxTileRows];
};

// Memory that the thread reads next, brought into the second cache while a run is multiplied, a few
// lines with each step of a product: bursts would wait for each other, and pages lie apart, where
// the processor's own prefetchers start anew.
struct ReadAhead {
  int num_blocks = 0;
  int64_t block_bytes = 0;  // keys of a page and the values behind them
  int lines_per_step = 0;
  int block = 0;             // the next that is begun
  const char* at = nullptr;  // in the one before it
  const char* end = nullptr;
  const char* blocks[kMaxRunPages] = {};
};

// Query rows of one key-value head against a run of its pages. Row r of page p is the row
// p * num_rows + r of `scores` and `sums`.
struct AttentionRun {
  int num_rows = 0;
  int num_pages = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t value_stride = 0;      // elements between rows of float values
  int64_t row_stride = 0;        // elements between rows of `o` and of `sums`
  const float* query = nullptr;  // [key_dim][kMaxTileRows]; of quantised keys: IntegerQuery
  CacheType key_type = CacheType::kF32;
  CacheType value_type = CacheType::kF32;
  float scale = 1;
  float soft_cap = 0;       // 0: none
  float* scores = nullptr;  // [rows][64]: dots in, probabilities out
  float* sums = nullptr;    // [rows][row_stride]: scratch
  // Scratch for quantised values: [blocks of a row][64], and [64][blocks of a row * 32].
  float* value_scales = nullptr;
  float* widened_values = nullptr;
  ReadAhead* ahead = nullptr;
  AttentionPage pages[kMaxRunPages];
};

// What keys contributed to each row: maximum, sum of exp(score - m), sum of exp(score - m) * value.
struct AttentionState {
  int32_t* is_empty = nullptr;  // [kStateRows]: no visible key yet; then the rest means nothing
  float* m = nullptr;           // [kStateRows]
  float* l = nullptr;           // [kStateRows]
  float* o = nullptr;           // [rows][row_stride]
};

struct AttentionKernels {
  // Dots of the rows with the float keys of all pages, into `scores`.
  void (*dot_keys)(const AttentionRun& run) = nullptr;
  // From dots to the pages' states, joined to `state` in order.
  void (*fold_pages)(const AttentionRun& run, const AttentionState& state) = nullptr;
  // left = left (+) right; `width` elements of each row of o.
  void (*join)(int num_rows, int64_t width, int64_t row_stride, const AttentionState& left,
               const AttentionState& right) = nullptr;
  // Joins the sink of each row (null: none), then out[r] = o / l, zeros for an empty row.
  void (*finish)(int num_rows, int64_t width, int64_t row_stride, const float* const* sinks,
                 const AttentionState& state, float* const* out) = nullptr;
};

// Defined once per level, in attention_kernels.cc.
template <Isa kIsa>
AttentionKernels attention_kernels();

}  // namespace quern::cpu
