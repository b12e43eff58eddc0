// Makes one node of pure nodes that compute the same.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// Two pure nodes are the same if operation, version, attributes and inputs are. The first stays.
// A node whose value is readable by name stays too.
Result<Graph> eliminate_common_subexpressions(const Graph& graph, const PassOptions& options);

}  // namespace quern
