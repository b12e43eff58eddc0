// Products with what follows them.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// Bias, activation, gate and residual move into the store of the product before them:
// - projection.linear and an elementwise group that alone reads its result become fused.linear,
// - two projections of one x in such a group become fused.gated_linear,
// - math.matmul and such a group become fused.matmul.
// Each result rounds as before: the bits stay. Only what the backend lists. Where a group could go
// with several products, the last one takes it.
// Example, a residual:
//   %y = projection.linear(%h, %w)
//   %z = math.add(%x, %y)  ->  %z = fused.linear(%h, %w, _, _, %x) {program = "math.add(x1, x0)"}
// Legal because the product of one element is complete, and rounded to its type, before the program
// sees it, and nobody else reads it.
Result<Graph> fuse_products(const Graph& graph, const PassOptions& options);

}  // namespace quern
