// experts.linear and experts.combine: products with the weights of chosen experts, and their sum.
#include <cstring>
#include <memory>

#include "backends/cpu/kernels/activation_packing.h"
#include "backends/cpu/kernels/linear.h"
#include "backends/cpu/pack_values.h"
#include "backends/cpu/shared_tables.h"
#include "backends/cpu/steps/activation_kind.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"
#include "base/fail.h"

namespace quern::cpu {
namespace {

// Ports of experts.linear.
constexpr size_t kX = 0, kWeight = 1, kExperts = 2, kBias = 3, kScale = 4;

// (token, choice) pairs of each expert, in order.
using SlotsByExpert = std::vector<std::vector<int64_t>>;

// A slot is token * choices + choice. Errors: kOutOfRange for an expert that there is not.
Result<SlotsByExpert> group_slots(const TensorView& experts, int64_t num_experts) {
  SlotsByExpert slots(static_cast<size_t>(num_experts));
  for (int64_t slot = 0; slot < experts.shape.num_elements(); ++slot) {
    const int32_t expert = experts.as<const int32_t>()[slot];
    if (expert < 0 || expert >= num_experts) {
      return fail::out_of_range("Expert {} at position {} is outside the {} experts.", expert, slot,
                                num_experts);
    }
    slots[static_cast<size_t>(expert)].push_back(slot);
  }
  return slots;
}

// Of integers and plain floats, whose blocks hold one element.
int64_t row_bytes(const TensorView& view) {
  return view.shape.last() * dtype_info(view.dtype).block_bytes;
}

// T is the type of y and of the bias.
template <class T>
class ExpertsStep final : public Step {
 public:
  ExpertsStep(const StepRequest& request, std::vector<PackedWeight> weights, VectorOperand<T> bias)
      : machine_(request.machine),
        kind_(activation_kind_of(request.input_type(kX).dtype)),
        weight_scale_(request.attributes().number("weight_scale")),
        weights_(std::move(weights)),
        bias_(std::move(bias)) {}

  Result<void> run(const StepContext& context) override {
    QUERN_ASSIGN_OR_RETURN(
        const SlotsByExpert slots,
        group_slots(context.inputs[kExperts], static_cast<int64_t>(weights_.size())));
    const T* bias = bias_.get(context.inputs[kBias]);
    for (size_t expert = 0; expert < slots.size(); ++expert) {
      if (slots[expert].empty()) continue;
      const PackedWeight& weight = weights_[expert];
      const T* own_bias =
          bias == nullptr ? nullptr : bias + static_cast<int64_t>(expert) * weight.rows();
      QUERN_TRY(run_expert(context, weight, own_bias, slots[expert]));
    }
    return {};
  }

  int64_t weight_bytes() const override {
    int64_t sum = 0;
    for (const PackedWeight& weight : weights_) sum += weight.size_bytes();
    return sum;
  }

 private:
  bool is_integer() const {
    return kind_ == ActivationKind::kInt8 || kind_ == ActivationKind::kInt16;
  }
  Result<void> run_expert(const StepContext& context, const PackedWeight& weight, const T* bias,
                          std::span<const int64_t> slots);
  // Rows of the slots side by side, as T where x is a float.
  void gather(const StepContext& context, std::span<const int64_t> slots, std::byte* x,
              float* scale) const;

  Machine& machine_;
  ActivationKind kind_;
  double weight_scale_;
  std::vector<PackedWeight> weights_;  // by expert
  VectorOperand<T> bias_;
};

template <class T>
void ExpertsStep<T>::gather(const StepContext& context, std::span<const int64_t> slots,
                            std::byte* x, float* scale) const {
  const TensorView& source = context.inputs[kX];
  const TensorView& scales = context.inputs[kScale];
  const int64_t choices = context.inputs[kExperts].shape[1];
  const int64_t k = source.shape.last();
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const int64_t row = source.shape.rank() == 3 ? slots[i] : slots[i] / choices;
    if (!is_integer()) {
      load_row(source, row * k, k, reinterpret_cast<T*>(x) + index * k);
      continue;
    }
    const int64_t size = row_bytes(source);
    std::memcpy(x + index * size, source.data + row * size, static_cast<size_t>(size));
    const int64_t blocks = scales.shape.last();
    std::copy_n(scales.as<const float>() + row * blocks, blocks, scale + index * blocks);
  }
}

template <class T>
Result<void> ExpertsStep<T>::run_expert(const StepContext& context, const PackedWeight& weight,
                                        const T* bias, std::span<const int64_t> slots) {
  const auto count = static_cast<int64_t>(slots.size());
  const int64_t element =
      is_integer() ? (kind_ == ActivationKind::kInt16 ? 2 : 1) : static_cast<int64_t>(sizeof(T));
  ActivationLayout layout;
  if (is_integer()) {
    layout = make_activation_layout(count, weight.columns(), weight.activation_block(),
                                    static_cast<int>(8 * element));
  }
  const int64_t x_bytes = round_up(count * weight.columns() * element, 64);
  const int64_t scale_bytes = round_up(count * context.inputs[kScale].shape.last() * 4, 64);
  const int64_t y_bytes = round_up(count * weight.rows() * static_cast<int64_t>(sizeof(T)), 64);
  const int64_t own =
      linear_scratch_bytes(weight, machine_.kernels, count, machine_.pool.num_threads());
  QUERN_ASSIGN_OR_RETURN(std::byte * x, machine_.scratch(x_bytes + scale_bytes + y_bytes +
                                                         round_up(layout.size_bytes, 64) + own));
  auto* scale = reinterpret_cast<float*>(x + x_bytes);
  auto* y = reinterpret_cast<T*>(x + x_bytes + scale_bytes);
  std::byte* packed = x + x_bytes + scale_bytes + y_bytes;
  gather(context, slots, x, scale);
  if (is_integer()) {
    QUERN_TRY(pack_plain_activations(layout, machine_.kernels, x, scale, packed, machine_.pool));
  }
  linear({.weight = &weight,
          .num_tokens = count,
          .x = x,
          .packed_x = packed,
          .bias = bias,
          .scale = weight_scale_,
          .y = y,
          .scratch = packed + round_up(layout.size_bytes, 64)},
         machine_.kernels, machine_.pool);
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(y + i * weight.rows(), weight.rows(),
                context.outputs[0].as<T>() + slots[static_cast<size_t>(i)] * weight.rows());
  }
  return {};
}

// The part of a weight [experts, rows, columns] that belongs to one expert.
Result<Tensor> slice_expert(const Tensor& weight, int64_t expert) {
  const Shape shape{weight.shape()[1], weight.shape()[2]};
  QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(weight.dtype(), shape));
  QUERN_ASSIGN_OR_RETURN(Buffer buffer, weight.buffer().slice(expert * size, size));
  return Tensor::make(weight.dtype(), shape, std::move(buffer));
}

template <class T>
MadeStep make(const StepRequest& request) {
  QUERN_ASSIGN_OR_RETURN(const Tensor weight, request.loaded.fetch(request.node().inputs[kWeight]));
  const ActivationKind kind = activation_kind_of(request.input_type(kX).dtype);
  std::vector<PackedWeight> packed;
  for (int64_t expert = 0; expert < weight.shape()[0]; ++expert) {
    QUERN_ASSIGN_OR_RETURN(const Tensor part, slice_expert(weight, expert));
    QUERN_ASSIGN_OR_RETURN(packed.emplace_back(),
                           pack_value(request, request.node().inputs[kWeight], expert, part, kind));
  }
  QUERN_ASSIGN_OR_RETURN(auto bias, VectorOperand<T>::make(request, kBias));
  return std::make_unique<ExpertsStep<T>>(request, std::move(packed), std::move(bias));
}

// z[t] = sum of weights[t, u] * y[t, u], from +0 in the order of u.
template <class T>
class CombineStep final : public Step {
 public:
  explicit CombineStep(Machine& machine) : machine_(machine) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& y = context.inputs[0];
    const int64_t choices = y.shape[1], n = y.shape[2];
    const int64_t room = 2 * round_up(n, 64 / static_cast<int64_t>(sizeof(T)));
    const T* weights = weights_.get(context.inputs[1]);
    QUERN_ASSIGN_OR_RETURN(
        std::byte * scratch,
        machine_.scratch(room * static_cast<int64_t>(sizeof(T)) * machine_.pool.num_threads()));
    for_ranges(machine_.pool, y.shape[0], choices * n, [&](int64_t begin, int64_t end, int thread) {
      T* sums = reinterpret_cast<T*>(scratch) + room * thread;
      for (int64_t t = begin; t < end; ++t) {
        std::fill_n(sums, n, T(0));
        for (int64_t slot = t * choices; slot < (t + 1) * choices; ++slot) {
          add_choice(y, slot * n, n, weights[slot], sums, sums + room / 2);
        }
        store_row(context.outputs[0], t * n, n, sums);
      }
    });
    return {};
  }

 private:
  void add_choice(const TensorView& y, int64_t first, int64_t n, T weight, T* sums,
                  T* widened) const {
    const T* row = y.as<const T>() + first;
    if (y.dtype != kDTypeOf<T>) {
      load_row(y, first, n, widened);
      row = widened;
    }
    functions_of<T>(machine_.kernels.elementwise)[BinaryFunction::kAxpy](row, sums, sums, n,
                                                                         weight);
  }

  Machine& machine_;
  VectorOperand<T> weights_;
};

}  // namespace

MadeStep make_experts_linear(const StepRequest& request) {
  if (!request.is_loaded(kWeight)) return make_reference(request);
  return request.output_type(0).dtype == DType::kF64 ? make<double>(request) : make<float>(request);
}

MadeStep make_experts_combine(const StepRequest& request) {
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    return std::make_unique<CombineStep<T>>(request.machine);
  });
}

}  // namespace quern::cpu
