// One spelling for each meaning, so that later passes match fewer forms.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// - An alias becomes the operation that it stands for ("Add" is math.add).
// - Negative axes count from the front; transposed axes ascend; a slice to the end says where.
// - The tanh form of activation.gelu is activation.gelu_tanh; math.inv_sqrt_dim_scale of a known
//   width is math.scale.
// - model.freeze, which only marks parameters, is its input.
// Names, values and their bits stay. Nodes whose values are readable by name stay nodes.
// Example:
//   %z = Transpose(%x) {dim0 = -1, dim1 = 0}   ->   %z = shape.transpose(%x) {dim0 = 0, dim1 = 1}
// Legal because each form is defined as the other. Idempotent: a second run changes nothing.
Result<Graph> canonicalise(const Graph& graph, const PassOptions& options);

}  // namespace quern
