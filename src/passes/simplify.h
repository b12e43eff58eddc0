// Algebraic simplification.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// Replaces nodes by simpler ones or by values that are there already; simplify_rules.h lists the
// kinds of rules. In strict and deterministic numerics every rule keeps the bits of every result;
// fast also drops the sign of zero (x + 0 is x) and joins factors. Nodes with effects, several
// outputs or readable names stay. What nobody reads any more is left for eliminate_dead_code.
Result<Graph> simplify(const Graph& graph, const PassOptions& options);

}  // namespace quern
