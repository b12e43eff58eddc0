// Which kernel of this backend runs a node, and why, for people.
#pragma once

#include "quern/device.h"

namespace quern::cpu {

// Of a node of a graph that was compiled for this backend.
KernelChoice choose_kernel(const Graph& graph, const Node& node, const Capabilities& capabilities);

}  // namespace quern::cpu
