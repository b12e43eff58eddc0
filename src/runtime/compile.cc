// From a graph to something that runs: passes, legality, code, weights.
#include "base/fail.h"
#include "passes/pipeline.h"
#include "quern/device.h"
#include "quern/op.h"

namespace quern {

Result<std::unique_ptr<Executable>> compile_and_load(const Graph& graph, const Backend& backend,
                                                     Device& device, const WeightSource* weights,
                                                     const CompileOptions& options,
                                                     const Progress& progress) {
  QUERN_TRY(verify(graph));
  QUERN_ASSIGN_OR_RETURN(const Graph optimized,
                         run_passes(graph, default_pipeline(), PassOptions{options.readable}));
  for (const Node& node : optimized.nodes()) QUERN_TRY(backend.legal(optimized, node));
  QUERN_ASSIGN_OR_RETURN(const auto artifact, backend.compile(optimized, options));
  QUERN_TRY(backend.validate(*artifact));
  return device.load(*artifact, weights, progress);
}

}  // namespace quern
