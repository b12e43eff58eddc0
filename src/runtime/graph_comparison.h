// Runs one graph on two devices and finds the first node where their values part.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/device.h"
#include "runtime/tensor_comparison.h"

namespace quern {

// Where a graph runs. Both outlive the comparison.
struct ComparedDevice {
  // The backend compiles, the device runs.
  const Backend* backend = nullptr;
  Device* device = nullptr;
};

// One execution. Runs follow each other on the same states, each of which has one sequence, 0.
struct ComparedRun {
  std::string name;  // "prefill of 5 tokens"
  // By name, as RunArguments take them.
  std::map<std::string, Tensor, std::less<>> inputs;
  int64_t num_rows = 0;  // that the run appends to its states
};

// How strict the comparison is.
struct ComparisonOptions {
  Numerics numerics = Numerics::kStrict;
  // Largest max_relative that is no divergence; 0 asks for the same bits.
  double tolerance = 0;
  Progress progress = {};  // runs and searches done, of all that are certain
};

// The first value, in the graph's order, that is not what is expected. All values before it are, so
// the node that makes it is where the fault lies.
struct Divergence {
  size_t run = 0;  // index of the run
  // Which node, and the value that it made.
  NodeId node = -1;
  ValueId value = kNoValue;
  TensorDifference difference;
  Shape shape;
  // True when the value is right as long as every node's value is kept, and wrong when the graph is
  // compiled as usual: the fault lies in what the device makes of several nodes together.
  bool needs_whole_graph = false;
};

// What was found.
struct GraphComparison {
  int64_t num_values = 0;     // compared in each run
  int64_t num_divergent = 0;  // of them, in the run of the first divergence
  // Nothing: the devices agree.
  std::optional<Divergence> first;
  double worst_relative = 0;  // of all values within the tolerance
  // Of the run of the first divergence, by value name: what each device computed.
  std::map<std::string, Tensor, std::less<>> actual;
  // `expected` also holds the inputs of that run, so that a node can be run again alone.
  std::map<std::string, Tensor, std::less<>> expected;
};

// Where the devices agree it costs one compilation on `expected` and two on `actual`, each with all
// runs; a divergence of the whole graph costs some more on `actual`. `weights` may be null for a
// graph without.
Result<GraphComparison> compare_graph(const Graph& graph, const WeightSource* weights,
                                      const ComparedDevice& actual, const ComparedDevice& expected,
                                      std::span<const ComparedRun> runs,
                                      const ComparisonOptions& options);

}  // namespace quern
