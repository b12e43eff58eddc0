// Chains of elementwise operations in one pass over memory.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// Two and more elementwise nodes whose results only the group reads become fused.elementwise, which
// rounds each result as the nodes did: the bits stay. Only where the backend lists
// fused.elementwise and the operations, within its limits. Groups grow from the last node upwards,
// so a result that the caller or another node reads ends a group.
// Example:
//   %a = math.add(%x, %b)
//   %y = activation.relu(%a)   ->   %y = fused.elementwise(%x, %b) {program = "math.add(x0, x1);
//                                                                   activation.relu(v0)"}
Result<Graph> fuse_elementwise(const Graph& graph, const PassOptions& options);

}  // namespace quern
