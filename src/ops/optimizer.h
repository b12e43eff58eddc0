// What optimisers share: their tensors and their definition. State is explicit: it goes in through
// optional ports (absent: zeros) and comes out beside the new parameters, in the compute type.
#pragma once

#include <string>
#include <vector>

#include "ops/float_access.h"
#include "ops/op_parts.h"
#include "quern/op.h"

namespace quern {

// Ports params, grads, one for each state, step; outputs likewise without grads.
template <class T>
struct OptimizerTensors {
  std::vector<T> params;
  std::vector<T> grads;
  std::vector<std::vector<T>> states;
  int64_t step;  // of this call: 1 in the first

  // Absent states are zeros, and the step counts from 1: an absent count is 0 calls so far.
  explicit OptimizerTensors(const KernelContext& context)
      : params(load_all<T>(context.inputs[0])), grads(load_all<T>(context.inputs[1])), step(1) {
    // All outputs but params and the step.
    const size_t num_states = context.outputs.size() - 2;
    for (size_t i = 0; i < num_states; ++i) {
      states.push_back(load_all<T>(context.inputs[2 + i]));
      states.back().resize(params.size());
    }
    const TensorView& count = context.inputs[2 + num_states];
    if (count.is_present()) step = count.as<const int64_t>()[0] + 1;
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
