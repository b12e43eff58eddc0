// Checks a graph before and after the rewrites.
#include "passes/verify_graph.h"

#include "base/fail.h"

namespace quern {

// The verifier of the IR, and the values that somebody wants to read.
Result<Graph> verify_graph(const Graph& graph, const PassOptions& options) {
  QUERN_TRY(verify(graph));
  for (const std::string& name : options.readable) {
    if (graph.find_value(name) == kNoValue) {
      return fail::not_found("The graph has no value '{}' to read.", name);
    }
  }
  return graph;
}

}  // namespace quern
