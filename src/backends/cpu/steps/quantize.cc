// quant.dynamic, in plain form, in the packed form of the products, or both.
#include "backends/cpu/kernels/activation_packing.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// Which forms are written is decided by the plan: a form that nobody reads has no memory.
class QuantizeStep final : public Step {
 public:
  QuantizeStep(Machine& machine, int64_t block, int64_t bits)
      : machine_(machine), block_(block), bits_(static_cast<int>(bits)) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const float* rows = x.as<const float>();
    // Quantising is defined from f32.
    if (x.dtype != DType::kF32) {
      const int64_t n = x.shape.num_elements();
      QUERN_ASSIGN_OR_RETURN(std::byte * scratch,
                             machine_.scratch(n * static_cast<int64_t>(sizeof(float))));
      load_row(x, 0, n, reinterpret_cast<float*>(scratch));
      rows = reinterpret_cast<const float*>(scratch);
    }
    if (context.packed_output != nullptr) {
      pack_activations(layout_of(x.shape), machine_.kernels, rows, context.packed_output,
                       machine_.pool);
    }
    if (context.outputs[0].is_present() || context.outputs[1].is_present()) {
      return quantize_plain(context, rows);
    }
    return {};
  }

  int64_t packed_bytes(const StepShapes& shapes) const override {
    return layout_of(shapes.inputs[0].shape).size_bytes;
  }

 private:
  ActivationLayout layout_of(const Shape& x) const {
    return make_activation_layout(x.num_rows(), x.last(), static_cast<int>(block_), bits_);
  }

  // Where only the integers or only the scales are read, the others go to memory of the step.
  Result<void> quantize_plain(const StepContext& context, const float* rows) {
    const Shape& shape = context.inputs[0].shape;
    QuantizeRows call{.x = rows,
                      .num_rows = shape.num_rows(),
                      .columns = shape.last(),
                      .block = block_,
                      .bits = bits_,
                      .q = context.outputs[0].data,
                      .d = context.outputs[1].as<float>()};
    if (call.q == nullptr) {
      unread_.resize(static_cast<size_t>(shape.num_elements() * bits_ / 8));
      call.q = unread_.data();
    }
    if (call.d == nullptr) {
      unread_.resize(static_cast<size_t>(context.outputs[1].shape.num_elements()) * sizeof(float));
      call.d = reinterpret_cast<float*>(unread_.data());
    }
    quantize_rows(call, machine_.kernels, machine_.pool);
    return {};
  }

  Machine& machine_;
  int64_t block_;
  int bits_;
  std::vector<std::byte> unread_;
};

}  // namespace

MadeStep make_quantize(const StepRequest& request) {
  return std::make_unique<QuantizeStep>(request.machine, request.attributes().integer("block"),
                                        request.attributes().integer("bits"));
}

bool can_pack_quantized(const Graph& graph, const Node& node) {
  const Dim& columns = graph.value(node.inputs[0]).type.dims.back();
  return columns.is_constant() &&
         can_pack_activations(columns.factor, node.attributes.integer("block"),
                              node.attributes.integer("bits"));
}

}  // namespace quern::cpu
