// Finds the weights that a graph names.
#pragma once

#include <string>
#include <vector>

#include "quern/device.h"

namespace quern {

// One weight as the source gives it, mapped or not; `weights` may be null. Errors, naming the
// weight: kFailedPrecondition without a source, kNotFound, kInvalidArgument for another dtype or
// shape.
Result<Tensor> load_weight(const std::string& name, const TensorType& type,
                           const WeightSource* weights);

// The tensor of each graph.weight node by value id, as the source gives it (mapped, not copied);
// empty tensors elsewhere. `progress` may be empty; it is told (nodes done, nodes) after each
// weight. Errors are those of load_weight().
Result<std::vector<Tensor>> load_weights(const Graph& graph, const WeightSource* weights,
                                         const Progress& progress);

}  // namespace quern
