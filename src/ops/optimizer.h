// What optimisers share: their tensors and their definition. State is explicit: it goes in through
// optional ports (absent: zeros) and comes out beside the new parameters, in the compute type.
#pragma once

#include <string>
#include <vector>

#include "ops/float_access.h"
#include "ops/op_parts.h"
#include "quern/op.h"

namespace quern {

// The step of this call, from 1: one more than the port `step` says, which counts the calls before
// and may be absent. Errors: a count that is negative or has no successor.
Result<int64_t> next_step(const TensorView& count);

// Ports params, grads, one for each state, step; outputs likewise without grads.
template <class T>
struct OptimizerTensors {
  std::vector<T> params;
  std::vector<T> grads;
  std::vector<std::vector<T>> states;
  int64_t step;  // of this call: 1 in the first

  // Absent states are zeros. `next` is what next_step() says.
  OptimizerTensors(const KernelContext& context, int64_t next)
      : params(load_all<T>(context.inputs[0])), grads(load_all<T>(context.inputs[1])), step(next) {
    // All outputs but params and the step.
    const size_t num_states = context.outputs.size() - 2;
    for (size_t i = 0; i < num_states; ++i) {
      states.push_back(load_all<T>(context.inputs[2 + i]));
      states.back().resize(params.size());
    }
  }

  // Parameters round once to their dtype; states are of T and keep their bits.
  void store(const KernelContext& context) const {
    const auto n = static_cast<int64_t>(params.size());
    store_row(context.outputs[0], 0, n, params.data());
    for (size_t i = 0; i < states.size(); ++i) {
      store_row(context.outputs[1 + i], 0, n, states[i].data());
    }
    context.outputs.back().template as<int64_t>()[0] = step;
  }
};

// Attributes that many optimisers have.
inline AttributeDef learning_rate(std::optional<double> default_value) {
  return op_parts::number("lr", default_value, "Learning rate.");
}
inline AttributeDef weight_decay(double default_value) {
  return op_parts::number("wd", default_value, "Weight decay.");
}

// The operation train.optimizer.NAME. `states` names the state ports in the order of
// OptimizerTensors::states; outputs have the names with "_out".
OpDef optimizer_op(std::string name, std::string doc, const std::vector<std::string>& states,
                   std::vector<AttributeDef> attributes, OpDef::Kernel kernel);

}  // namespace quern
