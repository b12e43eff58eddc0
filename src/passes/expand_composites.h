// Composites as the operations they are made of.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// A node whose operation has an expansion, and which its target does not run directly, becomes that
// expansion: by definition the same bits. The node that gives the result takes its name. Expansions
// are expanded too. Without a target nothing changes.
// Errors: an expansion that fails, or one that never ends.
// Example, for a backend without Fused:
//   %z = Fused(%a, %b) {activation = "relu"}
//   ->  %z.expansion.math.matmul.0 = math.matmul(%a, %b)
//       %z = activation.relu(%z.expansion.math.matmul.0)
Result<Graph> expand_composites(const Graph& graph, const PassOptions& options);

}  // namespace quern
