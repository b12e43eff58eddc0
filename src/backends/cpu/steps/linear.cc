// projection.linear: weights packed when the graph is loaded, activations as floats or packed.
#include "backends/cpu/kernels/linear.h"

#include <fmt/format.h>

#include <memory>

#include "backends/cpu/kernels/activation_packing.h"
#include "backends/cpu/shared_tables.h"
#include "backends/cpu/steps/activation_kind.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// Ports of projection.linear.
constexpr size_t kX = 0, kWeight = 1, kBias = 2, kScale = 3;

// T is the type of y and of the bias.
template <class T>
class LinearStep final : public Step {
 public:
  LinearStep(const StepRequest& request, std::shared_ptr<const PackedWeight> weight,
             VectorOperand<T> bias)
      : machine_(request.machine),
        kind_(activation_kind_of(request.input_type(kX).dtype)),
        weight_scale_(request.attributes().number("weight_scale")),
        weight_(std::move(weight)),
        bias_(std::move(bias)) {}

  Result<void> run(const StepContext& context) override {
    if (weight_) return multiply(context, *weight_);
    // A weight that is computed or given with each run.
    const TensorView& view = context.inputs[kWeight];
    QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(view.dtype, view.shape));
    QUERN_ASSIGN_OR_RETURN(
        const Tensor tensor,
        Tensor::make(view.dtype, view.shape,
                     Buffer::wrap_host({view.data, static_cast<size_t>(size)}, nullptr)));
    QUERN_ASSIGN_OR_RETURN(const PackedWeight packed,
                           pack_weight(tensor, kind_, machine_.kernels, machine_.pool));
    return multiply(context, packed);
  }

  int64_t weight_bytes() const override { return weight_ ? weight_->size_bytes() : 0; }

  std::span<const std::byte> weights() const override {
    if (!weight_) return {};
    return {weight_->panels(), static_cast<size_t>(weight_->size_bytes())};
  }

  StepWork work(const StepContext& context) const override {
    if (!weight_) return {};
    const auto tokens = static_cast<double>(context.inputs[kX].shape.num_rows());
    const auto rows = static_cast<double>(weight_->rows());
    const auto columns = static_cast<double>(weight_->columns());
    return {.detail = fmt::format("{} {} [{}, {}] x {}", dtype_name(weight_->dtype()),
                                  activation_kind_name(kind_), weight_->rows(), weight_->columns(),
                                  context.inputs[kX].shape.num_rows()),
            .products = tokens * rows * columns,
            .bytes = static_cast<double>(weight_->size_bytes()) + 4 * tokens * (rows + columns)};
  }

 private:
  bool is_integer() const {
    return kind_ == ActivationKind::kInt8 || kind_ == ActivationKind::kInt16;
  }
  ActivationLayout layout_of(const PackedWeight& weight, int64_t num_tokens) const {
    return make_activation_layout(num_tokens, weight.columns(), weight.activation_block(),
                                  kind_ == ActivationKind::kInt16 ? 16 : 8);
  }
  // Room for activations that are not in the form of the products: packed integers, or f32.
  int64_t converted_bytes(const StepContext& context, const PackedWeight& weight) const;
  Result<void> multiply(const StepContext& context, const PackedWeight& weight);

  Machine& machine_;
  ActivationKind kind_;
  double weight_scale_;
  std::shared_ptr<const PackedWeight> weight_;  // null: packed in each run
  VectorOperand<T> bias_;
};

template <class T>
int64_t LinearStep<T>::converted_bytes(const StepContext& context,
                                       const PackedWeight& weight) const {
  const TensorView& x = context.inputs[kX];
  if (is_integer()) {
    if (context.packed_input != nullptr) return 0;
    return layout_of(weight, x.shape.num_rows()).size_bytes;
  }
  if (x.dtype == kDTypeOf<T>) return 0;
  return round_up(x.shape.num_elements() * static_cast<int64_t>(sizeof(T)), 64);
}

template <class T>
Result<void> LinearStep<T>::multiply(const StepContext& context, const PackedWeight& weight) {
  const TensorView& x = context.inputs[kX];
  const int64_t num_tokens = x.shape.num_rows();
  const int64_t converted = converted_bytes(context, weight);
  const int64_t own =
      linear_scratch_bytes(weight, machine_.kernels, num_tokens, machine_.pool.num_threads());
  QUERN_ASSIGN_OR_RETURN(std::byte * scratch, machine_.scratch(converted + own));
  LinearCall call{.weight = &weight,
                  .num_tokens = num_tokens,
                  .bias = bias_.get(context.inputs[kBias]),
                  .scale = weight_scale_,
                  .y = context.outputs[0].data,
                  .scratch = scratch + converted};
  // Floats of another dtype than the product's are converted; the output port has T already.
  if (!is_integer()) {
    if (converted > 0) {
      load_row(x, 0, x.shape.num_elements(), reinterpret_cast<T*>(scratch));
    }
    call.x = converted > 0 ? scratch : x.data;
    // The producer left the packed form that all products of these activations share.
  } else if (context.packed_input != nullptr) {
    call.packed_x = context.packed_input;
  } else {
    QUERN_TRY(pack_plain_activations(layout_of(weight, num_tokens), machine_.kernels, x.data,
                                     context.inputs[kScale].as<const float>(), scratch,
                                     machine_.pool));
    call.packed_x = scratch;
  }
  linear(call, machine_.kernels, machine_.pool);
  return {};
}

// The weight of a node in packed form, made once for all nodes that use it so. Null for a weight
// that is computed.
Result<std::shared_ptr<const PackedWeight>> pack_loaded(const StepRequest& request) {
  if (!request.is_loaded(kWeight)) return nullptr;
  const ValueId value = request.node().inputs[kWeight];
  const ActivationKind kind = activation_kind_of(request.input_type(kX).dtype);
  auto& slot = request.tables.packed_weight(value, kind);
  if (slot != nullptr) return slot;
  QUERN_ASSIGN_OR_RETURN(const Tensor tensor, request.loaded.fetch(value));
  QUERN_ASSIGN_OR_RETURN(PackedWeight packed,
                         pack_weight(tensor, kind, request.machine.kernels, request.machine.pool,
                                     &request.tables.weight_memory()));
  slot = std::make_shared<const PackedWeight>(std::move(packed));
  return slot;
}

template <class T>
MadeStep make(const StepRequest& request) {
  QUERN_ASSIGN_OR_RETURN(auto weight, pack_loaded(request));
  QUERN_ASSIGN_OR_RETURN(auto bias, VectorOperand<T>::make(request, kBias));
  return std::make_unique<LinearStep<T>>(request, std::move(weight), std::move(bias));
}

}  // namespace

MadeStep make_linear(const StepRequest& request) {
  return request.output_type(0).dtype == DType::kF64 ? make<double>(request) : make<float>(request);
}

}  // namespace quern::cpu
