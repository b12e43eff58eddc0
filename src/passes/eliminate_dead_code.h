// Removes nodes whose results nobody needs. Keeps effects, outputs and readable values.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// Assumes a verified graph. Graph inputs stay, used or not: they are the caller's contract.
Result<Graph> eliminate_dead_code(const Graph& graph, const PassOptions& options);

}  // namespace quern
