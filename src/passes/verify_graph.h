// The verifier as a pass.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// The graph itself, or the first rule of the IR that it breaks. Assumes nothing. Besides verify()
// it checks that the readable values exist.
Result<Graph> verify_graph(const Graph& graph, const PassOptions& options);

}  // namespace quern
