// Weights from their source, constants from their reference kernel.
#include "backends/cpu/loaded_values.h"

#include <array>

#include "base/fail.h"
#include "quern/op.h"
#include "runtime/weight_loading.h"

namespace quern::cpu {
namespace {

// The reference kernel of graph.constant, run once when the graph is loaded.
Result<Tensor> make_constant(const Graph& graph, const Node& node) {
  const TensorType& type = graph.value(node.outputs[0]).type;
  QUERN_ASSIGN_OR_RETURN(const Shape shape, type.resolve(SymbolValues{}));
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(type.dtype, shape));
  QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.buffer().mutable_host_view());
  const std::array<TensorView, 1> outputs{TensorView{type.dtype, shape, bytes.data()}};
  QUERN_TRY(node.op->reference({{}, outputs, node.attributes}));
  return tensor;
}

}  // namespace

Result<Tensor> LoadedValues::fetch(ValueId value) const {
  const Tensor& known = kept(value);
  if (!known.is_empty()) return known;
  const Node& node = graph_->node(graph_->value(value).producer);
  if (node.op->id == "graph.constant") return make_constant(*graph_, node);
  return load_weight(node.attributes.text("weight"), graph_->value(value).type, weights_);
}

Result<LoadedValues> LoadedValues::make(const Graph& graph, const Plan& plan,
                                        const WeightSource* weights) {
  LoadedValues loaded(graph, weights);
  for (const Storage& storage : plan.memory.storages) {
    if (storage.home != Home::kLoaded) continue;
    QUERN_ASSIGN_OR_RETURN(loaded.kept_[static_cast<size_t>(storage.value)],
                           loaded.fetch(storage.value));
  }
  return loaded;
}

}  // namespace quern::cpu
