// Passes and the order they run in.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/graph.h"

namespace quern {

struct PassOptions {
  // Values that must survive with their names, besides the outputs.
  std::vector<std::string> readable;
};

// A rewrite: a free function from graph to graph.
struct Pass {
  std::string_view name;
  Result<Graph> (*run)(const Graph& graph, const PassOptions& options);
};

// The passes of every compilation, in order.
std::span<const Pass> default_pipeline();

// Runs the passes; in debug builds the verifier runs after each. Errors name the pass.
Result<Graph> run_passes(const Graph& graph, std::span<const Pass> passes,
                         const PassOptions& options);

}  // namespace quern
