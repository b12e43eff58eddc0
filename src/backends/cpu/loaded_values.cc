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

// Weights below this are copied, so that a file's pages are not in memory for the sake of them: a
// system that keeps files in large pieces maps 2 MiB where a vector of 2 KiB is read (SmolLM2 q8_0,
// Linux 6.18: 75 of 144 MB).
constexpr int64_t kMostCopiedBytes = int64_t{64} << 10;

Result<Tensor> LoadedValues::keep(ValueId value) const {
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, fetch(value));
  QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.host_view());
  const bool is_copied = static_cast<int64_t>(bytes.size()) < kMostCopiedBytes &&
                         mappings_.holds(bytes) && !bytes.empty();
  if (!is_copied) return tensor;
  QUERN_ASSIGN_OR_RETURN(Tensor copy, Tensor::from_bytes(tensor.dtype(), tensor.shape(), bytes));
  release(bytes);
  return copy;
}

Result<LoadedValues> LoadedValues::make(const Graph& graph, const Plan& plan,
                                        const WeightSource* weights) {
  LoadedValues loaded(graph, weights);
  for (const Storage& storage : plan.memory.storages) {
    if (storage.home != Home::kLoaded) continue;
    QUERN_ASSIGN_OR_RETURN(loaded.kept_[static_cast<size_t>(storage.value)],
                           loaded.keep(storage.value));
  }
  return loaded;
}

}  // namespace quern::cpu
