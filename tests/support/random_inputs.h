// Random tensors for everything that a graph binds.
#pragma once

#include <map>
#include <random>
#include <string>

#include "quern/graph.h"
#include "support/graph_runner.h"

namespace quern::test {

struct GraphInputs {
  std::map<std::string, Tensor, std::less<>> tensors;
  MemoryWeights weights;
};

// Values for the inputs and weights of a graph. A symbol has the extent of `symbols`, else 5.
// Integers are small, so that they can be rows and ids; every `special_every`th float is a zero of
// either sign, a denormal, an infinity or NaN.
GraphInputs random_inputs(const Graph& graph, std::mt19937& random, int special_every = 6,
                          const SymbolValues& symbols = {});

}  // namespace quern::test
