// Operations with two published forms.
#include "ops/two_forms.h"

#include "base/fail.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

// Ports are declared optional because one form may lack them; presence is asked for here, under the
// name that the port has in this form.
Result<const TensorType*> present_port(const InferContext& context, size_t port) {
  if (port < context.inputs.size() && context.inputs[port] != nullptr) return context.inputs[port];
  return fail::invalid("Port '{}' must be given.", type_rules::port_name(context, port));
}

}  // namespace

AttributeDef form_attribute() {
  return op_parts::text("form", "estimator", "Samples or probability tables.",
                        {"estimator", "table"});
}

Result<TensorType> float_port(const InferContext& context, size_t port, int rank) {
  QUERN_ASSIGN_OR_RETURN(const TensorType* type, present_port(context, port));
  const std::string name = type_rules::port_name(context, port);
  QUERN_TRY(type_rules::expect_float(name, *type));
  // -1 stands for any rank.
  if (rank >= 0) QUERN_TRY(type_rules::expect_rank(name, *type, rank));
  return *type;
}

Result<void> expect_integers(const InferContext& context, size_t port, std::vector<Dim> dims) {
  QUERN_ASSIGN_OR_RETURN(const TensorType* type, present_port(context, port));
  QUERN_TRY(
      type_rules::expect_dtype(type_rules::port_name(context, port), *type,
                               // load_indices() reads these as i64 without loss; u64 would not fit.
                               {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU8}));
  return expect_port(context, port, {type->dtype, std::move(dims)});
}

Result<void> expect_port(const InferContext& context, size_t port, const TensorType& wanted) {
  QUERN_ASSIGN_OR_RETURN(const TensorType* type, present_port(context, port));
  // Dtype and extents at once: ports of these operations never convert or broadcast.
  if (*type == wanted) return {};
  return fail::invalid("Port '{}' has type {}; it must be {}.",
                       type_rules::port_name(context, port), type->to_string(), wanted.to_string());
}

Result<void> expect_absent(const InferContext& context, size_t port) {
  if (context.inputs[port] == nullptr) return {};
  return fail::invalid("Port '{}' has no meaning with the form '{}'.",
                       type_rules::port_name(context, port), context.attributes.text("form"));
}

}  // namespace quern
