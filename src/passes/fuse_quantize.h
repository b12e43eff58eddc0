// Quantisation of activations with what precedes it.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// A norm, or a group of elementwise operations, whose result only quant.dynamic reads becomes one
// node with it, fused.quantize: the float rows need no memory. Norm and product meet in it, and
// all projections of the norm's result share it. The bits stay. Only where the backend lists it.
// Example:
//   %h = math.rmsnorm(%x, %w) {eps = 1e-05}
//   %q, %s = quant.dynamic(%h) {block = 32, bits = 8}
//   ->  %q, %s = fused.quantize(%x, %w) {program = "math.rmsnorm(x0, x1) {eps = 1e-05}", ...}
// Legal because both walk whole rows: a row's norm is complete before its first block is quantised.
Result<Graph> fuse_quantize(const Graph& graph, const PassOptions& options);

}  // namespace quern
