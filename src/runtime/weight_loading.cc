// Weights by value id, checked against the graph.
// Tensors of mapped files stay mapped.
#include "runtime/weight_loading.h"

#include "base/fail.h"
#include "quern/op.h"

namespace quern {

// Type and shape must be those of the graph: kernels do not check them again.
Result<Tensor> load_weight(const std::string& name, const TensorType& type,
                           const WeightSource* weights) {
  if (weights == nullptr) {
    return fail::precondition("The graph needs the weight '{}', but no weights are given.", name);
  }
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, weights->weight(name));
  // A weight has no symbols; one that does is an error here.
  // Empty: every extent must be a constant.
  QUERN_ASSIGN_OR_RETURN(const Shape wanted, type.resolve(SymbolValues{}));
  if (tensor.dtype() != type.dtype || !(tensor.shape() == wanted)) {
    return fail::invalid("Weight '{}' is {}{}; the graph needs {}.", name,
                         dtype_name(tensor.dtype()), tensor.shape().to_string(), type.to_string());
  }
  return tensor;
}

// In the order of the nodes, for the progress.
Result<std::vector<Tensor>> load_weights(const Graph& graph, const WeightSource* weights,
                                         const Progress& progress) {
  std::vector<Tensor> loaded(graph.values().size());
  int64_t done = 0;
  const auto total = static_cast<int64_t>(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    // All nodes count, so that the total is known without a first walk.
    ++done;
    if (node.op->id != "graph.weight") continue;
    const std::string& name = node.attributes.text("weight");
    const ValueId value = node.outputs[0];
    QUERN_ASSIGN_OR_RETURN(loaded[static_cast<size_t>(value)],
                           load_weight(name, graph.value(value).type, weights));
    if (progress) progress(done, total);
  }
  return loaded;
}

}  // namespace quern
