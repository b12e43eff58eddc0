// From a graph to something that runs: passes, legality, code, weights.
// Backends see only graphs that every pass and every check has let through.
#include "base/fail.h"
#include "passes/pipeline.h"
#include "quern/device.h"
#include "quern/op.h"

namespace quern {

// Passes, then legality of every node, then code: what is refused is refused before any code is
// made.
Result<std::unique_ptr<Artifact>> compile_graph(const Graph& graph, const Backend& backend,
                                                const Capabilities& capabilities,
                                                const CompileOptions& options) {
  const PassOptions pass_options{
      .readable = options.readable,
      .numerics = options.numerics,
      .fusions = backend.fusions(),
      // One target: a single device, so that `place` checks names and adds no copies.
      .targets = {{std::string(backend.name()), &backend, &capabilities}},
      .placement = options.placement};
  QUERN_ASSIGN_OR_RETURN(const auto passes, select_passes(default_pipeline(), options.passes));
  QUERN_ASSIGN_OR_RETURN(const Graph optimized,
                         run_passes(graph, passes, pass_options, options.observer));
  // `lower` has asked already where it ran; a selection of passes cannot switch this one off.
  for (const Node& node : optimized.nodes()) QUERN_TRY(backend.legal(optimized, node));
  QUERN_ASSIGN_OR_RETURN(auto artifact, backend.compile(optimized, options));
  // What a backend emits is checked by the backend's own validator before anybody loads it.
  QUERN_TRY(backend.validate(*artifact));
  return artifact;
}

// For callers that do not keep the artifact.
Result<std::unique_ptr<Executable>> compile_and_load(const Graph& graph, const Backend& backend,
                                                     Device& device, const WeightSource* weights,
                                                     const CompileOptions& options,
                                                     const Progress& progress) {
  QUERN_ASSIGN_OR_RETURN(const auto artifact,
                         compile_graph(graph, backend, device.capabilities(), options));
  return device.load(*artifact, weights, progress);
}

}  // namespace quern
