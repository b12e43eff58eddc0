// math.groupnorm, normalization.instance_norm and normalization.batch_norm_eval: x [N, C, ...],
// where the elements of a channel share one weight and one bias.
#include <array>
#include <cmath>

#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// Work of an element in units of for_ranges: two or three reads of x, a write.
constexpr int64_t kCostPerElement = 2;

// Elements of one channel of one sample.
int64_t channel_size(const Shape& shape) {
  int64_t size = 1;
  for (int axis = 2; axis < shape.rank(); ++axis) size *= shape[axis];
  return size;
}

// Weight and bias by channel; null where absent.
template <class T>
struct ChannelScales {
  const T* weight;
  const T* bias;
  const T* weight_of(int64_t channel) const {
    return weight == nullptr ? nullptr : weight + channel;
  }
  const T* bias_of(int64_t channel) const { return bias == nullptr ? nullptr : bias + channel; }
};

// Mean and variance (lanes(32), two passes) of each group of `channels` neighbouring channels, over
// all their elements.
template <class T>
class GroupNormStep final : public Step {
 public:
  GroupNormStep(Machine& machine, int64_t groups, T eps, VectorOperand<T> weight,
                VectorOperand<T> bias)
      : machine_(machine),
        groups_(groups),
        eps_(eps),
        weight_(std::move(weight)),
        bias_(std::move(bias)) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const TensorView& y = context.outputs[0];
    if (x.shape.num_elements() == 0) return {};
    const ChannelScales<T> scales{weight_.get(context.inputs[1]), bias_.get(context.inputs[2])};
    // A group is one row of memory: its channels are neighbours.
    const int64_t groups = groups_ == 0 ? x.shape[1] : groups_;
    const int64_t channels = x.shape[1] / groups, size = channel_size(x.shape);
    const int64_t n = channels * size;
    const NormFunctions<T>& kernels = functions_of<T>(machine_.kernels.norm);
    const TensorView rows{x.dtype, Shape{x.shape[0] * groups, n}, x.data};
    const TensorView results{y.dtype, rows.shape, y.data};
    return for_each_row_index<T>(machine_, rows, results, kCostPerElement,
                                 [&](const RowPair<T>& row, int64_t index, int64_t) {
                                   const RowMoments<T> moments = kernels.moments(row.x, n, eps_);
                                   for (int64_t c = 0; c < channels; ++c) {
                                     const int64_t channel = index % groups * channels + c;
                                     kernels.normalize(row.x + c * size, row.y + c * size, size,
                                                       moments, scales.weight_of(channel),
                                                       scales.bias_of(channel));
                                   }
                                 });
  }

 private:
  Machine& machine_;
  int64_t groups_;  // 0: one for each channel
  T eps_;
  VectorOperand<T> weight_;
  VectorOperand<T> bias_;
};

// Stored statistics of each channel: y = (x - mean) * (1 / sqrt(variance + eps)), then weight and
// bias, each rounded.
template <class T>
class BatchNormStep final : public Step {
 public:
  BatchNormStep(Machine& machine, T eps, std::array<VectorOperand<T>, 4> operands)
      : machine_(machine), eps_(eps), operands_(std::move(operands)) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const TensorView& y = context.outputs[0];
    if (x.shape.num_elements() == 0) return {};
    const T* mean = operands_[0].get(context.inputs[1]);
    const T* variance = operands_[1].get(context.inputs[2]);
    const ChannelScales<T> scales{operands_[2].get(context.inputs[3]),
                                  operands_[3].get(context.inputs[4])};
    const int64_t channels = x.shape[1], size = channel_size(x.shape);
    const NormFunctions<T>& kernels = functions_of<T>(machine_.kernels.norm);
    const TensorView rows{x.dtype, Shape{x.shape[0] * channels, size}, x.data};
    const TensorView results{y.dtype, rows.shape, y.data};
    return for_each_row_index<T>(
        machine_, rows, results, kCostPerElement,
        [&](const RowPair<T>& row, int64_t index, int64_t n) {
          const int64_t channel = index % channels;
          const RowMoments<T> moments{mean[channel], T(1) / std::sqrt(variance[channel] + eps_)};
          kernels.normalize(row.x, row.y, n, moments, scales.weight_of(channel),
                            scales.bias_of(channel));
        });
  }

 private:
  Machine& machine_;
  T eps_;
  std::array<VectorOperand<T>, 4> operands_;  // mean, variance, weight, bias
};

}  // namespace

MadeStep make_group_norm(const StepRequest& request) {
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    const bool is_instance = request.op_id() == "normalization.instance_norm";
    QUERN_ASSIGN_OR_RETURN(auto weight, VectorOperand<T>::make(request, 1));
    QUERN_ASSIGN_OR_RETURN(auto bias, VectorOperand<T>::make(request, 2));
    return std::make_unique<GroupNormStep<T>>(
        request.machine, is_instance ? 0 : request.attributes().integer("groups"),
        static_cast<T>(request.attributes().number("eps")), std::move(weight), std::move(bias));
  });
}

MadeStep make_batch_norm(const StepRequest& request) {
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    std::array<VectorOperand<T>, 4> operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      QUERN_ASSIGN_OR_RETURN(operands[i], VectorOperand<T>::make(request, i + 1));
    }
    return std::make_unique<BatchNormStep<T>>(
        request.machine, static_cast<T>(request.attributes().number("eps")), std::move(operands));
  });
}

}  // namespace quern::cpu
