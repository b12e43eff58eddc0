// Operations that run their reference kernel here, because the table says so.
#include <algorithm>
#include <optional>

#include "backends/cpu/steps/steps.h"
#include "backends/cpu/work_split.h"
#include "runtime/host_kv_store.h"

namespace quern::cpu {
namespace {

// Work of an element of a reference kernel in units of for_ranges.
constexpr int64_t kCostPerElement = 40;

// The whole operation in one call on the calling thread: the definition itself.
class ReferenceStep : public Step {
 public:
  ReferenceStep(const Node& node, NodeId id)
      : kernel_(node.op->reference), attributes_(node.attributes), id_(id) {}

  Result<void> run(const StepContext& context) override {
    return run_views(context, context.inputs, context.outputs);
  }

 protected:
  Result<void> run_views(const StepContext& context, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs) const {
    KernelContext kernel{inputs, outputs, attributes_};
    kernel.kv = context.kv;
    kernel.stream = context.stream;
    kernel.node_id = static_cast<uint32_t>(id_);
    return kernel_(kernel);
  }

 private:
  OpDef::Kernel kernel_;
  Attributes attributes_;
  NodeId id_;
};

// Rows [begin, end) along the first axis.
TensorView row_range(const TensorView& view, int64_t begin, int64_t end) {
  if (!view.is_present()) return view;
  const DTypeInfo& info = dtype_info(view.dtype);
  const int64_t elements = view.shape[0] == 0 ? 0 : view.shape.num_elements() / view.shape[0];
  TensorView part = view;
  part.shape[0] = end - begin;
  part.data += begin * (elements / info.block_size) * info.block_bytes;
  return part;
}

// Rows of all inputs and outputs go together: ranges of them are calls of their own.
class ReferenceRowsStep final : public ReferenceStep {
 public:
  ReferenceRowsStep(Machine& machine, const Node& node, NodeId id)
      : ReferenceStep(node, id), machine_(machine), errors_(machine.pool.num_threads()) {}

  Result<void> run(const StepContext& context) override {
    const Shape& x = context.inputs[0].shape;
    if (x.rank() < 2 || x[0] == 0) return ReferenceStep::run(context);
    std::ranges::fill(errors_, std::nullopt);
    const int64_t cost = x.num_elements() / x[0] * kCostPerElement;
    for_ranges(machine_.pool, x[0], cost, [&](int64_t begin, int64_t end, int thread) {
      std::vector<TensorView> inputs, outputs;
      for (const TensorView& view : context.inputs) inputs.push_back(row_range(view, begin, end));
      for (const TensorView& view : context.outputs) {
        outputs.push_back(row_range(view, begin, end));
      }
      // Each thread keeps its own error, so that none is written by two.
      auto done = run_views(context, inputs, outputs);
      if (!done) errors_[static_cast<size_t>(thread)] = std::move(done).error();
    });
    for (const auto& error : errors_) {
      if (error) return tl::unexpected(*error);
    }
    return {};
  }

 private:
  Machine& machine_;
  std::vector<std::optional<Error>> errors_;  // by thread
};

}  // namespace

Result<std::unique_ptr<Step>> make_reference(const StepRequest& request) {
  return std::make_unique<ReferenceStep>(request.node(), request.id);
}

Result<std::unique_ptr<Step>> make_reference_rows(const StepRequest& request) {
  return std::make_unique<ReferenceRowsStep>(request.machine, request.node(), request.id);
}

}  // namespace quern::cpu
