// Finds the weights that a graph names.
#pragma once

#include <vector>

#include "quern/device.h"

namespace quern {

// The tensor of each graph.weight node by value id, as the source gives it (mapped, not copied);
// empty tensors elsewhere. Errors name the weight: missing, or of another dtype or shape.
Result<std::vector<Tensor>> load_weights(const Graph& graph, const WeightSource* weights,
                                         const Progress& progress);

}  // namespace quern
