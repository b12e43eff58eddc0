// Type rules and definitions that elementwise operations share.
#include "ops/elementwise.h"

namespace quern {
namespace {

// One type for all present inputs; it is that of the result.
Result<std::vector<TensorType>> infer_same(const InferContext& context) {
  // Absent inputs have no type to compare; variadic ports put their types behind the declared ones.
  const TensorType& x = *context.inputs[0];
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    if (context.inputs[i] == nullptr) continue;
    QUERN_TRY(type_rules::expect_same_type(context, i, x, type_rules::port_name(context, 0)));
  }
  return std::vector<TensorType>{x};
}

// Gives the first ports new names; an empty list keeps them all.
void rename(std::vector<PortDef>& ports, std::vector<std::string> names) {
  for (size_t i = 0; i < names.size(); ++i) ports[i].name = std::move(names[i]);
}

}  // namespace

// The rule of float operations: all inputs and the result have one float type.
Result<std::vector<TensorType>> infer_same_floats(const InferContext& context) {
  QUERN_TRY(type_rules::expect_float(type_rules::port_name(context, 0), *context.inputs[0]));
  return infer_same(context);
}

// The rule of operations that integers have too: one type of floats or integers.
Result<std::vector<TensorType>> infer_same_numbers(const InferContext& context) {
  QUERN_TRY(type_rules::expect_number(type_rules::port_name(context, 0), *context.inputs[0]));
  return infer_same(context);
}

// The same operation under another id, with its own names of ports. Kernels and rules are
// shared; `alias_of` names the original, so that passes need to know only that.
OpDef alias_of(const OpDef& op, std::string id, std::vector<std::string> inputs,
               std::vector<std::string> outputs) {
  OpDef alias = op;
  alias.alias_of = op.id;
  alias.id = std::move(id);
  rename(alias.inputs, std::move(inputs));
  rename(alias.outputs, std::move(outputs));
  return alias;
}

}  // namespace quern
