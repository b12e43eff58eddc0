// Measures the time of each node of a compiled graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/engine_flags.h"
#include "quern/device.h"

namespace quern::cli {

// What one run has to do.
struct RunSize {
  // As in the report.
  std::string name;
  int64_t tokens = 0;       // of a language model
  int64_t cached_rows = 0;  // in the key-value cache before the run
  // Extents of a graph that is no model.
  SymbolValues symbols = {};
};

// One thread only; the artifact must outlive it.
class NodeTimes {
 public:
  virtual ~NodeTimes() = default;

  // Loads the model of the flags, which compiles to `artifact`, and runs tokens through it.
  static Result<std::unique_ptr<NodeTimes>> of_model(const EngineFlags& flags,
                                                     const Artifact& artifact, bool is_quiet);
  // Runs the graph on inputs that are made up. Errors: a graph with weights or states.
  static Result<std::unique_ptr<NodeTimes>> of_graph(const Artifact& artifact, Device& device);

  // Mean seconds of each node of the artifact's graph over `repetitions` runs after two to warm up;
  // negative for nodes that do not run.
  // At least one repetition. The runs before bind plans, pack weights and fill caches, as in steady
  // use.
  virtual Result<std::vector<double>> measure(const RunSize& size, int64_t repetitions) = 0;
};

}  // namespace quern::cli
