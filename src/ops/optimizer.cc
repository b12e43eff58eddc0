// What optimisers share.
#include "ops/optimizer.h"

#include "base/fail.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

// params and grads of one float type, then a state for each state port and the step. A state that
// is given must have the type of its output, so that one call's results are the next one's inputs.
Result<std::vector<TensorType>> infer_optimizer(const InferContext& context) {
  const TensorType& params = *context.inputs[0];
  QUERN_TRY(type_rules::expect_float("params", params));
  QUERN_TRY(type_rules::expect_same_type(context, 1, params, "params"));
  // States are f32 beside f16 and bf16 parameters: small changes would vanish in them.
  const TensorType state{params.dtype == DType::kF64 ? DType::kF64 : DType::kF32, params.dims};
  const TensorType step{DType::kI64, {}};
  std::vector<TensorType> outputs = {params};
  // Port 2 + i is state i, the last one the step; outputs have no grads and stand one place
  // earlier.
  for (size_t port = 2; port + 1 < context.inputs.size(); ++port) outputs.push_back(state);
  outputs.push_back(step);
  for (size_t port = 2; port < context.inputs.size(); ++port) {
    // Absent states start from zeros.
    if (context.inputs[port] == nullptr) continue;
    QUERN_TRY(type_rules::expect_type(context, port, outputs[port - 1], "as its output"));
  }
  return outputs;
}

}  // namespace

Result<int64_t> next_step(const TensorView& count) {
  if (!count.is_present()) return 1;
  const int64_t before = count.as<const int64_t>()[0];
  if (before >= 0 && before < INT64_MAX) return before + 1;
  return fail::invalid("Port 'step' is {}; it must be from 0 to below 2^63 - 1.", before);
}

OpDef optimizer_op(std::string name, std::string doc, const std::vector<std::string>& states,
                   std::vector<AttributeDef> attributes, OpDef::Kernel kernel) {
  using namespace op_parts;
  OpDef op = {.id = "train.optimizer." + std::move(name),
              .doc = std::move(doc) +
                     " g is the gradient, p the parameter, t the step from 1; absent states are 0.",
              .shape_rule =
                  "params and grads of one float type; states f32 (f64 for f64 "
                  "params) of the same extents, step an i64 scalar, all "
                  "optional; the new params and states come out.",
              .edge_rule =
                  "NaN and infinities stay in their element (lamb, lars: an infinite "
                  "norm carries on to all; one of NaN is left out). No elements give "
                  "none. A step below 0 or of 2^63 - 1 is an error.",
              .f32_bound = 32,
              .inputs = {port("params"), port("grads")},
              .outputs = {port("params_out")},
              .attributes = std::move(attributes),
              .infer = infer_optimizer,
              .reference = kernel,
              .in_place_input = 0};
  for (const std::string& state : states) {
    op.inputs.push_back(optional_port(state));
    op.outputs.push_back(port(state + "_out"));
  }
  op.inputs.push_back(optional_port("step"));
  op.outputs.push_back(port("step_out"));
  return op;
}

}  // namespace quern
