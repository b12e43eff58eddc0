// What the reference backend compiles to: the graph itself.
#pragma once

#include <utility>
#include <vector>

#include "quern/device.h"

namespace quern::reference {

// Immutable once compiled; thread-safe.
class GraphArtifact final : public Artifact {
 public:
  // `outputs` name values of `graph`.
  GraphArtifact(Graph graph, std::vector<GraphOutput> outputs)
      : graph_(std::move(graph)), outputs_(std::move(outputs)) {}
  const Graph& graph() const override { return graph_; }
  // Outputs, then readable values.
  const std::vector<GraphOutput>& outputs() const { return outputs_; }

 private:
  Graph graph_;
  std::vector<GraphOutput> outputs_;
};

// Device of this machine; its executables interpret the graph node by node on the calling thread.
std::unique_ptr<Device> make_device();

// Holds the weights by value id, mapped where the source maps them. `weights` may be null for a
// graph without weights. Errors: those of load_weights().
Result<std::unique_ptr<Executable>> make_executable(const GraphArtifact& artifact,
                                                    const WeightSource* weights,
                                                    const Progress& progress);

}  // namespace quern::reference
