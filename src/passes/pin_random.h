// Fixes the counters of random operations before anything moves.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// Gives each node with the attribute `node_id` its index in this graph where it has none (-1), so
// that later passes cannot change random numbers by adding or removing nodes.
// Legal because -1 is defined as "the node's index"; two nodes that draw keep different counters,
// so they never give the same numbers by accident.
Result<Graph> pin_random(const Graph& graph, const PassOptions& options);

}  // namespace quern
