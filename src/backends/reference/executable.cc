// Interprets a graph node by node.
#include <algorithm>

#include "backends/reference/artifact.h"
#include "base/fail.h"
#include "quern/op.h"
#include "runtime/binding.h"
#include "runtime/node_timer.h"
#include "runtime/weight_loading.h"

namespace quern::reference {
namespace {

// A value's tensor during a run, dropped after its last use.
class ReferenceExecutable final : public Executable {
 public:
  ReferenceExecutable(const GraphArtifact& artifact, std::vector<Tensor> weights)
      : graph_(artifact.graph()), outputs_(artifact.outputs()), weights_(std::move(weights)) {
    // Later nodes overwrite earlier ones: the last user stays.
    last_use_.assign(graph_.values().size(), -1);
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      for (const ValueId input : graph_.nodes()[i].inputs) {
        if (input != kNoValue) last_use_[static_cast<size_t>(input)] = static_cast<NodeId>(i);
      }
    }
    for (const GraphOutput& output : outputs_) last_use_[static_cast<size_t>(output.value)] = kEnd;
  }

  Result<std::unique_ptr<Submission>> submit(const RunArguments& arguments) override;
  // Weights stay where the source has them, mapped or shared; nothing is packed.
  int64_t weight_bytes() const override { return 0; }
  int64_t arena_bytes() const override { return arena_bytes_; }

 private:
  // Last use of values that the run gives back: never dropped.
  static constexpr NodeId kEnd = INT32_MAX;
  Result<RunResult> interpret(const RunArguments& arguments);
  // Whether a run makes the value: not an input or a weight.
  bool is_computed(ValueId value) const {
    const std::string& op = graph_.node(graph_.value(value).producer).op->id;
    return op != "Input" && op != "graph.weight";
  }
  Result<void> run_node(NodeId id, const SymbolValues& symbols, const RunArguments& arguments,
                        std::vector<Tensor>& values);
  Result<Tensor> output_memory(ValueId value, const Shape& shape, const RunArguments& arguments);
  Result<RunResult> collect(const RunArguments& arguments, const std::vector<Tensor>& values);

  Graph graph_;
  std::vector<GraphOutput> outputs_;
  std::vector<Tensor> weights_;   // by value id; empty where the value is no weight
  std::vector<NodeId> last_use_;  // by value id
  int64_t arena_bytes_ = 0;
};

// Work was done in submit(): one thread, no queue. wait() may be called once.
class FinishedSubmission final : public Submission {
 public:
  explicit FinishedSubmission(Result<RunResult> result) : result_(std::move(result)) {}
  Result<RunResult> wait() override { return std::move(result_); }

 private:
  Result<RunResult> result_;
};

Result<std::unique_ptr<Submission>> ReferenceExecutable::submit(const RunArguments& arguments) {
  return std::make_unique<FinishedSubmission>(interpret(arguments));
}

// The view that kernels get. Errors: a tensor that is not in host memory.
Result<TensorView> view_of(Tensor& tensor) {
  TensorView view{tensor.dtype(), tensor.shape(), nullptr};
  // Kernels do not write their inputs; read-only storage is viewed without its const.
  QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.host_view());
  view.data = const_cast<std::byte*>(bytes.data());
  return view;
}

// Memory for a value: the caller's where it is a result that has some, else zeros.
Result<Tensor> ReferenceExecutable::output_memory(ValueId value, const Shape& shape,
                                                  const RunArguments& arguments) {
  const DType dtype = graph_.value(value).type.dtype;
  // The first name that brings memory is computed into; further names of the value are copied by
  // collect().
  for (const GraphOutput& output : outputs_) {
    if (output.value != value) continue;
    QUERN_ASSIGN_OR_RETURN(const Tensor* bound,
                           find_bound_output(arguments, output.name, dtype, shape));
    if (bound != nullptr) return *bound;
  }
  return Tensor::zeros(dtype, shape);
}

Result<void> ReferenceExecutable::run_node(NodeId id, const SymbolValues& symbols,
                                           const RunArguments& arguments,
                                           std::vector<Tensor>& values) {
  const Node& node = graph_.node(id);
  // Trailing optional ports that the node left out are absent views.
  std::vector<TensorView> inputs(std::max(node.inputs.size(), node.op->inputs.size()));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    QUERN_ASSIGN_OR_RETURN(inputs[i], view_of(values[static_cast<size_t>(node.inputs[i])]));
  }
  // Outputs get memory of their own in each node: the definition shares nothing.
  std::vector<TensorView> outputs;
  for (const ValueId output : node.outputs) {
    QUERN_ASSIGN_OR_RETURN(const Shape shape, graph_.value(output).type.resolve(symbols));
    QUERN_ASSIGN_OR_RETURN(values[static_cast<size_t>(output)],
                           output_memory(output, shape, arguments));
    QUERN_ASSIGN_OR_RETURN(const TensorView view, view_of(values[static_cast<size_t>(output)]));
    outputs.push_back(view);
  }
  KernelContext context{inputs, outputs, node.attributes};
  // Random operations are keyed by node and step.
  // The counter of Philox: with seed and node id it fixes every random word (see numerics).
  context.stream = arguments.stream;
  // Only where the attribute is -1; pin_random has fixed it before.
  context.node_id = static_cast<uint32_t>(id);
  if (node.op->find_attribute("state") != nullptr) {
    // bind_arguments() has seen that the state is bound.
    context.kv = arguments.states.find(node.attributes.text("state"))->second->host_state();
    if (context.kv == nullptr) return fail::invalid("The state is not in host memory.");
  }
  return node.op->reference(context);
}

Result<RunResult> ReferenceExecutable::interpret(const RunArguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const SymbolValues symbols, bind_arguments(graph_, arguments));
  QUERN_TRY(check_output_names(arguments, outputs_));
  // Tensors are handles: no bytes are copied.
  std::vector<Tensor> values = weights_;
  int64_t live_bytes = 0;
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = graph_.node(id);
    if (node.op->id == "Input") {
      values[static_cast<size_t>(node.outputs[0])] = arguments.inputs.find(node.name)->second;
      continue;
    }
    if (node.op->id == "graph.weight") continue;
    // A scope of its own, so that the timer ends before the error is looked at.
    const auto result = [&] {
      const NodeTimer timer(arguments.profile, id);
      return run_node(id, symbols, arguments, values);
    }();
    if (!result) {
      return tl::unexpected(result.error().with_context(fmt::format("Node '{}'", node.name)));
    }
    for (const ValueId output : node.outputs) {
      live_bytes += values[static_cast<size_t>(output)].size_bytes();
    }
    // The most that was alive after any node: what a planner would have to beat.
    arena_bytes_ = std::max(arena_bytes_, live_bytes);
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || last_use_[static_cast<size_t>(input)] != id) continue;
      Tensor& dropped = values[static_cast<size_t>(input)];
      // Inputs and weights were never counted, and an input that stands twice is dropped once.
      if (is_computed(input) && !dropped.is_empty()) live_bytes -= dropped.size_bytes();
      dropped = Tensor();
    }
  }
  return collect(arguments, values);
}

// A result that lies elsewhere (an input, or one with two names) is copied to the caller's memory.
Result<RunResult> ReferenceExecutable::collect(const RunArguments& arguments,
                                               const std::vector<Tensor>& values) {
  RunResult result;
  for (const GraphOutput& output : outputs_) {
    // A value with two names gives two handles of one tensor.
    Tensor value = values[static_cast<size_t>(output.value)];
    QUERN_ASSIGN_OR_RETURN(const Tensor* bound,
                           find_bound_output(arguments, output.name, value.dtype(), value.shape()));
    if (bound != nullptr) {
      QUERN_TRY(copy_to_output(value, *bound));
      value = *bound;
    }
    result.values.emplace_back(output.name, std::move(value));
  }
  return result;
}

}  // namespace

Result<std::unique_ptr<Executable>> make_executable(const GraphArtifact& artifact,
                                                    const WeightSource* weights,
                                                    const Progress& progress) {
  QUERN_ASSIGN_OR_RETURN(std::vector<Tensor> loaded,
                         load_weights(artifact.graph(), weights, progress));
  return std::make_unique<ReferenceExecutable>(artifact, std::move(loaded));
}

}  // namespace quern::reference
