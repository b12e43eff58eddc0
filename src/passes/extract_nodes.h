// A few nodes of a graph as a graph of their own.
#pragma once

#include <vector>

#include "quern/graph.h"

namespace quern {

// The nodes (ids in ascending order) with their names. Values that others make become inputs of
// the same names and types, weights stay weights, constants are copied, states are declared.
// Outputs are all values of the nodes. Errors: kOutOfRange for an id that is no node.
Result<Graph> extract_nodes(const Graph& graph, const std::vector<NodeId>& nodes);

}  // namespace quern
