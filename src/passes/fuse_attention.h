// Attention written out in matrix products.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// matmul(q, kt), elementwise operations on the scores (scale, mask), softmax and matmul with v,
// each read by the next alone, become fused.attention, which never holds all scores and keeps the
// order of its parts: the bits stay. (The attention operations fold keys in chunks and give other
// bits; nothing becomes one of them.) Only where the backend lists it.
// Example:
//   %s = math.matmul(%q, %kt)
//   %c = math.scale(%s) {factor = 0.125}
//   %p = math.softmax(%c)
//   %y = math.matmul(%p, %v)
//   ->  %y = fused.attention(%q, %kt, %v) {program = "math.scale(x0) {factor = 0.125}"}
// Legal because a row of scores is complete before its softmax and its shares before their product:
// each row is computed as before, only without the rows of others in memory.
Result<Graph> fuse_attention(const Graph& graph, const PassOptions& options);

}  // namespace quern
