// The last check before code: every node has a kernel where it runs, in the precision it needs.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// The precision contract: a node needs the precision of its types. A float64 node on a device
// without float64 is refused with a text that names backend, operation, both precisions and node,
// and says how to opt in; nothing becomes float32 in silence. Then the backend must serve the
// operation and find the node legal. The graph itself stays. Without targets nothing is checked.
Result<Graph> lower(const Graph& graph, const PassOptions& options);

}  // namespace quern
