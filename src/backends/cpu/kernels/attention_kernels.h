// Kernels of attention over cached keys and values at one level, in the order of strict numerics.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

inline constexpr int64_t kPageKeys = 64;  // keys of a page: the inner chunk
inline constexpr int kMaxTileRows = 24;   // query rows that share the loads of keys and values
inline constexpr int kStateRows = 32;     // the same in whole vectors: room in arrays of rows
// Rows of states and partial sums are this much apart at least: whole vectors of every level.
inline constexpr int64_t kRowAlignment = 16;

// Element types of keys and values that the kernels read in place.
enum class CacheType : uint8_t { kF32, kF16, kBF16 };

// Query rows of one key-value head against one page.
struct AttentionPage {
  int num_rows = 0;  // up to kMaxTileRows
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t value_stride = 0;      // elements between rows of values
  int64_t row_stride = 0;        // elements between rows of `o` and of `sums`
  const float* query = nullptr;  // [num_rows][key_dim]
  const void* keys = nullptr;    // [key_dim][64]
  const void* values = nullptr;  // [64][value_stride], whole vectors up to value_dim readable
  // The page that the thread walks next: read ahead while this one is multiplied. Pages lie apart,
  // so the processor's own prefetchers start anew on each.
  const void* next_keys = nullptr;
  const void* next_values = nullptr;
  CacheType key_type = CacheType::kF32;
  CacheType value_type = CacheType::kF32;
  // Visible keys of each row in the page: first <= key < last, within 0 .. 64.
  const int32_t* first = nullptr;
  const int32_t* last = nullptr;
  float scale = 1;
  float soft_cap = 0;       // 0: none
  float* scores = nullptr;  // [num_rows][64]: dots in, probabilities out
  float* sums = nullptr;    // [num_rows][row_stride]: scratch
};

// What keys contributed to each row: maximum, sum of exp(score - m), sum of exp(score - m) * value.
struct AttentionState {
  int32_t* is_empty = nullptr;  // [rows]: no visible key yet; then the rest means nothing
  float* m = nullptr;           // [kStateRows]
  float* l = nullptr;           // [kStateRows]
  float* o = nullptr;           // [rows][row_stride]
};

struct AttentionKernels {
  // Dots of the rows with the 64 keys of the page, into `scores`.
  void (*dot_keys)(const AttentionPage& page) = nullptr;
  // From dots to the page's state, joined to `state`.
  void (*fold_page)(const AttentionPage& page, const AttentionState& state) = nullptr;
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
