// Type rules and definitions that elementwise operations share.
#include "ops/elementwise.h"

namespace quern {
namespace {

Result<std::vector<TensorType>> infer_same(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    if (context.inputs[i] == nullptr) continue;
    QUERN_TRY(type_rules::expect_same_type(context, i, x, type_rules::port_name(context, 0)));
  }
  return std::vector<TensorType>{x};
}

void rename(std::vector<PortDef>& ports, std::vector<std::string> names) {
  for (size_t i = 0; i < names.size(); ++i) ports[i].name = std::move(names[i]);
}

}  // namespace

Result<std::vector<TensorType>> infer_same_floats(const InferContext& context) {
  QUERN_TRY(type_rules::expect_float(type_rules::port_name(context, 0), *context.inputs[0]));
  return infer_same(context);
}

Result<std::vector<TensorType>> infer_same_numbers(const InferContext& context) {
  QUERN_TRY(type_rules::expect_number(type_rules::port_name(context, 0), *context.inputs[0]));
  return infer_same(context);
}

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
