// Attention written out in matrix products.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// matmul(q, kt), elementwise operations on the scores (scale, mask), softmax and matmul with v,
// each read by the next alone, become fused.attention, which never holds all scores and keeps the
// order of its parts: the bits stay. (The attention operations fold keys in chunks and give other
// bits; nothing becomes one of them.) Only where the backend lists it.
Result<Graph> fuse_attention(const Graph& graph, const PassOptions& options);

}  // namespace quern
