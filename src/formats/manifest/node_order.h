// The order in which the nodes of a manifest can be built.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "formats/manifest/declarations.h"

namespace quern::manifest {

// Indices of nodes such that each stands after those that it depends on; a manifest that is already
// in such an order keeps it. `dependencies(i)` lists the nodes that node i depends on.
// Errors: kInvalidArgument for a cycle, with its nodes and the place of one of them.
Result<std::vector<size_t>> order_nodes(
    std::span<const NodeDecl> nodes,
    const std::function<std::vector<size_t>(size_t)>& dependencies);

}  // namespace quern::manifest
