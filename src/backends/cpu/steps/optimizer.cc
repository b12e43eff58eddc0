// Optimisers that update each parameter on its own: one pass over parameters, gradients and states.
#include <algorithm>

#include "backends/cpu/steps/elementwise_pieces.h"
#include "backends/cpu/steps/steps.h"
#include "ops/optimizer.h"
#include "ops/optimizer_rules.h"

namespace quern::cpu {
namespace {

// Work of an element in units of for_ranges: three to five reads, two to four writes.
constexpr int64_t kCostPerElement = 6;

// Absent states are zeros, an absent step counter is the first step.
// Ports params, grads, states, step; outputs likewise without grads. States have the type T.
template <class T, class Rule>
class OptimizerStep final : public Step {
 public:
  OptimizerStep(Machine& machine, Attributes attributes,
                typename OptimizerFunctions<T>::Update kernel)
      : machine_(machine), attributes_(std::move(attributes)), kernel_(kernel) {}

  Result<void> run(const StepContext& context) override {
    constexpr size_t kStates = Rule::kStates;
    const TensorView& before = context.inputs[2 + kStates];
    QUERN_ASSIGN_OR_RETURN(const int64_t step, next_step(before));
    // The numbers of this step (bias corrections and the like), once for all elements.
    const Rule rule = make_optimizer_rule<Rule>(attributes_, step);
    const TensorView& params = context.inputs[0];
    const TensorView& result = context.outputs[0];
    const int64_t n = params.shape.num_elements();
    const bool is_direct = params.dtype == kDTypeOf<T>;
    for_ranges(machine_.pool, n, kCostPerElement, [&](int64_t begin, int64_t end, int) {
      for_pieces(begin, end, kPiece, [&](int64_t first, int64_t count) {
        // On the stack, in the first-level cache: pieces of narrow params and grads as T.
        T old_params[kPiece], grads[kPiece], new_params[kPiece];
        OptimizerPass<T> pass{.params = elements(params, first, count, old_params),
                              .grads = elements(context.inputs[1], first, count, grads),
                              .states = {},
                              .new_params = is_direct ? result.as<T>() + first : new_params,
                              .new_states = {},
                              .n = count};
        for (size_t s = 0; s < kStates; ++s) {
          const TensorView& state = context.inputs[2 + s];
          pass.states[s] = state.is_present() ? state.as<const T>() + first : nullptr;
          pass.new_states[s] = context.outputs[1 + s].as<T>() + first;
        }
        kernel_(&rule, pass);
        if (!is_direct) store_row(result, first, count, new_params);
      });
    });
    context.outputs.back().as<int64_t>()[0] = step;
    return {};
  }

 private:
  Machine& machine_;
  Attributes attributes_;
  typename OptimizerFunctions<T>::Update kernel_;
};

}  // namespace

MadeStep make_optimizer(const StepRequest& request) {
  constexpr std::string_view kPrefix = "train.optimizer.";
  const std::string_view name = request.op_id().substr(kPrefix.size());
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
// lamb and lars need norms of whole tensors: they stay with the reference.
#define QUERN_MAKE_STEP(id, Rule)                               \
  if (name == #id) {                                            \
    return std::make_unique<OptimizerStep<T, simd::Rule<T>>>(   \
        request.machine, request.attributes(),                  \
        functions_of<T>(request.machine.kernels.optimizer).id); \
  }
    QUERN_OPTIMIZER_RULES(QUERN_MAKE_STEP)
#undef QUERN_MAKE_STEP
    return make_reference(request);
  });
}

}  // namespace quern::cpu
