// projection.linear and its fused forms: weights packed when the graph is loaded, activations as
// floats or packed; a program on the results runs tile by tile, in the chunk that made them.
#include "backends/cpu/kernels/linear.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "backends/cpu/kernels/activation_packing.h"
#include "backends/cpu/pack_values.h"
#include "backends/cpu/shared_tables.h"
#include "backends/cpu/steps/activation_kind.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/program_operands.h"
#include "backends/cpu/steps/row_program.h"
#include "backends/cpu/steps/steps.h"
#include "base/fail.h"

namespace quern::cpu {
namespace {

// Where an operation has its weight, bias and factor, and those of its second product.
struct ProductPorts {
  size_t weight;
  size_t bias;
  const char* scale_attribute;
};
constexpr size_t kX = 0;

// A product of so many tokens packs its weight first: its several blocks of tokens would each make
// all panels.
constexpr int64_t kTokensWorthPacking = 32;

// One weight with what is applied to its product. T is the type of y and of the bias.
template <class T>
class ProductWeight {
 public:
  static Result<ProductWeight> make(const StepRequest& request, const ProductPorts& ports);

  // The weight: the loaded one, packed now where it pays or where `is_packed` says so, or one
  // packed now that is computed or given with each run.
  Result<const PackedWeight*> get(const StepContext& context, Machine& machine,
                                  bool is_packed = false);
  const T* bias(const StepContext& context) { return bias_.get(context.inputs[ports_.bias]); }
  double scale() const { return scale_; }
  int64_t size_bytes() const { return loaded_ ? loaded_->size_bytes() : 0; }
  // Null where the weight is packed in each run.
  const PackedWeight* loaded() const { return loaded_.get(); }

 private:
  explicit ProductWeight(const ProductPorts& ports) : ports_(ports) {}

  ProductPorts ports_;
  ActivationKind kind_ = ActivationKind::kF32;
  double scale_ = 1;
  std::shared_ptr<PackedWeight> loaded_;       // null: packed in each run
  std::shared_ptr<DeferredPacking> deferred_;  // of the loaded one
  PackedWeight own_;
  VectorOperand<T> bias_;
};

template <class T>
class LinearStep : public Step {
 public:
  LinearStep(const StepRequest& request, ProductWeight<T> weight, size_t scale_port)
      : machine_(request.machine),
        kind_(activation_kind_of(request.input_type(kX).dtype)),
        is_fast_(request.numerics == Numerics::kFast),
        weight_(std::move(weight)),
        scale_port_(scale_port) {}

  Result<void> run(const StepContext& context) override {
    QUERN_ASSIGN_OR_RETURN(const PackedWeight* weight, weight_.get(context, machine_));
    return multiply(context, *weight);
  }

  int64_t weight_bytes() const override { return weight_.size_bytes(); }

  std::span<const std::byte> weights() const override {
    const PackedWeight* weight = weight_.loaded();
    if (weight == nullptr || !weight->is_packed()) return {};
    return {weight->panels(), static_cast<size_t>(weight->size_bytes())};
  }

  StepWork work(const StepContext& context) const override {
    const PackedWeight* weight = weight_.loaded();
    if (weight == nullptr) return {};
    const auto tokens = static_cast<double>(context.inputs[kX].shape.num_rows());
    const auto rows = static_cast<double>(weight->rows());
    const auto columns = static_cast<double>(weight->columns());
    return {.detail = fmt::format("{} {} [{}, {}] x {}", dtype_name(weight->dtype()),
                                  activation_kind_name(kind_), weight->rows(), weight->columns(),
                                  context.inputs[kX].shape.num_rows()),
            .products = tokens * rows * columns * num_products(),
            .bytes = static_cast<double>(weight_bytes()) + 4 * tokens * (rows + columns)};
  }

 protected:
  virtual double num_products() const { return 1; }
  // Bytes that launch() needs besides those of the product.
  virtual int64_t extra_bytes(const StepContext&) { return 0; }
  virtual Result<void> launch(LinearCall& call, const StepContext&, std::byte*) {
    linear(call, machine_.kernels, machine_.pool);
    return {};
  }

  Machine& machine_;

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

  ActivationKind kind_;
  bool is_fast_;
  ProductWeight<T> weight_;
  size_t scale_port_;
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
  const int64_t own = linear_scratch_bytes(weight, machine_.kernels, num_tokens,
                                           machine_.pool.num_threads(), is_fast_);
  const int64_t product_bytes = round_up(converted + own, 64);
  QUERN_ASSIGN_OR_RETURN(std::byte * scratch,
                         machine_.scratch(product_bytes + extra_bytes(context)));
  LinearCall call{.weight = &weight,
                  .num_tokens = num_tokens,
                  .bias = weight_.bias(context),
                  .scale = weight_.scale(),
                  .y = context.outputs[0].data,
                  .scratch = scratch + converted,
                  .is_fast = is_fast_};
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
                                     context.inputs[scale_port_].as<const float>(), scratch,
                                     machine_.pool));
    call.packed_x = scratch;
  }
  return launch(call, context, scratch + product_bytes);
}

// The weight of a node in packed form, or wrapped where packing can wait, made once for all nodes
// that use it so. Null for a weight that is computed.
Result<std::shared_ptr<PackedWeight>> pack_loaded(const StepRequest& request, size_t port) {
  if (!request.is_loaded(port)) return nullptr;
  const ValueId value = request.node().inputs[port];
  const ActivationKind kind = activation_kind_of(request.input_type(kX).dtype);
  auto& slot = request.tables.packed_weight(value, kind);
  if (slot != nullptr) return slot;
  QUERN_ASSIGN_OR_RETURN(const Tensor tensor, request.loaded.fetch(value));
  const bool waits =
      !request.tables.pack_cache().is_on() && request.tables.deferred()->takes(tensor, kind);
  QUERN_ASSIGN_OR_RETURN(PackedWeight weight,
                         waits ? wrap_weight(tensor, kind, request.machine.kernels)
                               : pack_value(request, value, 0, tensor, kind));
  slot = std::make_shared<PackedWeight>(std::move(weight));
  return slot;
}

template <class T>
Result<ProductWeight<T>> ProductWeight<T>::make(const StepRequest& request,
                                                const ProductPorts& ports) {
  ProductWeight made(ports);
  made.kind_ = activation_kind_of(request.input_type(kX).dtype);
  made.scale_ = request.attributes().number(ports.scale_attribute);
  QUERN_ASSIGN_OR_RETURN(made.loaded_, pack_loaded(request, ports.weight));
  made.deferred_ = request.tables.deferred();
  QUERN_ASSIGN_OR_RETURN(made.bias_, VectorOperand<T>::make(request, ports.bias));
  return made;
}

template <class T>
Result<const PackedWeight*> ProductWeight<T>::get(const StepContext& context, Machine& machine,
                                                  bool is_packed) {
  if (loaded_) {
    const bool is_due = deferred_->is_due() || is_packed ||
                        context.inputs[kX].shape.num_rows() >= kTokensWorthPacking;
    if (is_due) QUERN_TRY(deferred_->pack(*loaded_));
    return loaded_.get();
  }
  const TensorView& view = context.inputs[ports_.weight];
  QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(view.dtype, view.shape));
  QUERN_ASSIGN_OR_RETURN(
      const Tensor tensor,
      Tensor::make(view.dtype, view.shape,
                   Buffer::wrap_host({view.data, static_cast<size_t>(size)}, nullptr)));
  QUERN_ASSIGN_OR_RETURN(own_, pack_weight(tensor, kind_, machine.kernels, machine.pool));
  return &own_;
}

// A program on the results of a product, or of two products of the same activations.
template <class T>
class FusedLinearStep final : public LinearStep<T> {
 public:
  FusedLinearStep(const StepRequest& request, ProductWeight<T> weight, size_t scale_port,
                  RowProgram<T> program, std::optional<ProductWeight<T>> second,
                  size_t first_operand)
      : LinearStep<T>(request, std::move(weight), scale_port),
        program_(std::move(program)),
        second_(std::move(second)),
        first_operand_(first_operand) {}

  int64_t weight_bytes() const override {
    return LinearStep<T>::weight_bytes() + (second_ ? second_->size_bytes() : 0);
  }

 private:
  static constexpr int64_t kPiece = RowProgram<T>::kPiece;

  double num_products() const override { return second_ ? 2 : 1; }
  // Results of the second product, then the program's slots for each thread.
  int64_t second_bytes(const StepContext& context) const {
    const int64_t n = context.outputs[0].shape.num_elements();
    return second_ ? round_up(n * static_cast<int64_t>(sizeof(T)), 64) : 0;
  }
  int64_t slot_bytes() const {
    return program_.scratch_rows() * kPiece * static_cast<int64_t>(sizeof(T));
  }
  int64_t extra_bytes(const StepContext& context) override {
    return second_bytes(context) + slot_bytes() * this->machine_.pool.num_threads();
  }

  Result<void> launch(LinearCall& call, const StepContext& context, std::byte* extra) override {
    if (second_) {
      // The room for panels is that of the first weight.
      QUERN_ASSIGN_OR_RETURN(call.second.weight,
                             second_->get(context, this->machine_, call.weight->is_packed()));
      call.second.bias = second_->bias(context);
      call.second.scale = second_->scale();
      call.second.y = extra;
    }
    const ProgramOperands<T> operands(context.inputs.subspan(first_operand_),
                                      context.outputs[0].shape, kPiece);
    std::byte* slots = extra + second_bytes(context);
    const TileFunction finish = [&](const ResultTile& tile) {
      finish_tile(tile, call, operands, reinterpret_cast<T*>(slots + slot_bytes() * tile.thread));
    };
    call.finish = &finish;
    linear(call, this->machine_.kernels, this->machine_.pool);
    return {};
  }

  void finish_tile(const ResultTile& tile, const LinearCall& call,
                   const ProgramOperands<T>& operands, T* slots) const {
    const int64_t columns = call.weight->rows();
    const size_t products = second_ ? 2 : 1;
    std::vector<const T*> inputs(products + operands.count());
    for (int64_t token = tile.token_begin; token < tile.token_end; ++token) {
      for (int64_t row = tile.row_begin; row < tile.row_end; row += kPiece) {
        const int64_t n = std::min(kPiece, tile.row_end - row);
        const int64_t first = token * columns + row;
        T* y = static_cast<T*>(call.y) + first;
        inputs[0] = y;
        if (second_) inputs[1] = static_cast<const T*>(call.second.y) + first;
        operands.read(first, row, n, nullptr, std::span(inputs).subspan(products));
        program_.run(inputs, y, n, slots);
      }
    }
  }

  RowProgram<T> program_;
  std::optional<ProductWeight<T>> second_;
  size_t first_operand_;
};

constexpr ProductPorts kLinearPorts{1, 2, "weight_scale"};
constexpr ProductPorts kGatePorts{1, 3, "weight_scale"};
constexpr ProductPorts kUpPorts{2, 4, "up_weight_scale"};

template <class T>
MadeStep make_plain(const StepRequest& request) {
  QUERN_ASSIGN_OR_RETURN(auto weight, ProductWeight<T>::make(request, kLinearPorts));
  return std::make_unique<LinearStep<T>>(request, std::move(weight), 3);
}

template <class T>
MadeStep make_fused(const StepRequest& request, bool is_gated) {
  QUERN_ASSIGN_OR_RETURN(
      const FusedProgram program,
      parse_fused_program(request.attributes().text("program"), request.graph.registry()));
  auto made = RowProgram<T>::make(program, kDTypeOf<T>, request.machine);
  if (!made) return fail::internal("A fused product has a program without kernels.");
  QUERN_ASSIGN_OR_RETURN(auto weight,
                         ProductWeight<T>::make(request, is_gated ? kGatePorts : kLinearPorts));
  std::optional<ProductWeight<T>> second;
  if (is_gated) {
    QUERN_ASSIGN_OR_RETURN(second, ProductWeight<T>::make(request, kUpPorts));
  }
  return std::make_unique<FusedLinearStep<T>>(request, std::move(weight), is_gated ? 5 : 3,
                                              std::move(*made), std::move(second),
                                              is_gated ? 6 : 4);
}

}  // namespace

MadeStep make_linear(const StepRequest& request) {
  const bool is_double = request.output_type(0).dtype == DType::kF64;
  return is_double ? make_plain<double>(request) : make_plain<float>(request);
}
MadeStep make_fused_linear(const StepRequest& request) {
  const bool is_double = request.output_type(0).dtype == DType::kF64;
  return is_double ? make_fused<double>(request, false) : make_fused<float>(request, false);
}
MadeStep make_gated_linear(const StepRequest& request) {
  const bool is_double = request.output_type(0).dtype == DType::kF64;
  return is_double ? make_fused<double>(request, true) : make_fused<float>(request, true);
}

}  // namespace quern::cpu
