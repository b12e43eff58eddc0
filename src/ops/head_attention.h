// Attention of heads over keys and values that are tensors: layouts, what a query sees, the kernel.
// The operations of attention_ops.cc and row_attention.cc differ in these numbers alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/attention_core.h"
#include "quern/op.h"

namespace quern {

// Where the rows of a head lie: element (b, h, t, d) is at b * batch + h * head + t * row + d.
// In elements. One struct serves both layouts:
//   [B, H, T, D]   batch H * T * D, head T * D, row D          (sdpa, mqa, gqa, flash, window)
//   [T, H * D]     batch 0,         head D,     row H * D      (multi_head_attention)
struct HeadStrides {
  int64_t batch;
  int64_t head;
  int64_t row;

  int64_t at(int64_t b, int64_t h, int64_t t) const { return b * batch + h * head + t * row; }
};

// Extents and layouts of one call; keys and values may have fewer heads than the queries.
// H = heads is a multiple of kv_heads; query head h reads key head h / (heads / kv_heads).
struct AttentionShape {
  int64_t batch, heads, kv_heads, queries, keys, head_dim, value_dim;
  HeadStrides q, k, v, out;
};

// What decides which keys a query sees and how scores are formed.
struct AttentionRule {
  bool is_causal = false;
  int64_t window = 0;  // 0: none
  double scale = 0.0;  // 0: 1 / sqrt(head_dim)
  double slope = 0.0;  // times (key - query), added to the score

  // Query row i of n stands at key keys - n + i.
  // The keys end where the queries end: with more keys than queries the first ones are a past that
  // all rows see; with fewer, the first rows stand before key 0 and see nothing.
  KeyRange visible(int64_t query, int64_t keys) const {
    if (!is_causal) return {0, keys};
    // query may be negative; both ends clamp at 0 so that the range is empty and not reversed.
    const int64_t last = std::max<int64_t>(0, query + 1);
    return {window == 0 ? 0 : std::max<int64_t>(0, last - window), last};
  }
};

// The kernel: inputs q, k, v of one float dtype at ports 0 to 2, laid out as `shape` says, and the
// result. `mask` may be absent ({}); it has q's rows and k's keys as its last two axes. Narrow
// floats compute in f32, as numerics says. Nothing is done for results without elements.
Result<void> run_attention(const KernelContext& context, const AttentionShape& shape,
                           const AttentionRule& rule, const TensorView& mask);

}  // namespace quern
