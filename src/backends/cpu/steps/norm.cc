// math.rmsnorm and math.layernorm.
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// Two passes over a row: its sum of squares, then the result.
constexpr int64_t kCostPerElement = 2;

// One row: rms_norm or layer_norm of an instruction set.
template <class T>
using NormKernel = void (*)(const NormRow<T>&);

// Rows over the threads; a row is never cut, since its sum is one fold.
template <class T>
class NormStep final : public Step {
 public:
  NormStep(Machine& machine, NormKernel<T> kernel, T eps, VectorOperand<T> weight,
           VectorOperand<T> bias)
      : machine_(machine),
        kernel_(kernel),
        eps_(eps),
        weight_(std::move(weight)),
        bias_(std::move(bias)) {}

  Result<void> run(const StepContext& context) override {
    const T* weight = weight_.get(context.inputs[1]);
    const T* bias = context.inputs.size() > 2 ? bias_.get(context.inputs[2]) : nullptr;
    return for_each_row<T>(machine_, context.inputs[0], context.outputs[0], kCostPerElement,
                           [&](const RowPair<T>& row, int64_t n) {
                             kernel_({row.x, weight, bias, row.y, n, eps_});
                           });
  }

 private:
  Machine& machine_;
  NormKernel<T> kernel_;
  T eps_;
  VectorOperand<T> weight_;
  VectorOperand<T> bias_;
};

// eps is rounded to T once, as the reference does.
template <class T>
Result<std::unique_ptr<Step>> make_norm(const StepRequest& request,
                                        NormKernel<T> NormFunctions<T>::*kernel) {
  const T eps = static_cast<T>(request.attributes().number("eps"));
  QUERN_ASSIGN_OR_RETURN(auto weight, VectorOperand<T>::make(request, 1));
  QUERN_ASSIGN_OR_RETURN(auto bias, VectorOperand<T>::make(request, 2));
  return std::make_unique<NormStep<T>>(request.machine,
                                       functions_of<T>(request.machine.kernels.norm).*kernel, eps,
                                       std::move(weight), std::move(bias));
}

}  // namespace

Result<std::unique_ptr<Step>> make_rms_norm(const StepRequest& request) {
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) {
    return make_norm<T>(request, &NormFunctions<T>::rms_norm);
  });
}

Result<std::unique_ptr<Step>> make_layer_norm(const StepRequest& request) {
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) {
    return make_norm<T>(request, &NormFunctions<T>::layer_norm);
  });
}

}  // namespace quern::cpu
