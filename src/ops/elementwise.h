// What elementwise operations share: type rules, kernels made of a formula, op definitions.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "ops/float_access.h"
#include "ops/op_notes.h"
#include "ops/op_parts.h"
#include "ops/type_rules.h"
#include "quern/op.h"

namespace quern {

// y has the type of the first input; all present inputs must have that type, of floats.
// Ports of an alias keep their names in the errors. Errors: a type that differs from the first
// input's, and types other than floats.
Result<std::vector<TensorType>> infer_same_floats(const InferContext& context);
// The same for floats and integers of 8 bits and more.
Result<std::vector<TensorType>> infer_same_numbers(const InferContext& context);

// A formula with a constructor from Attributes gets them, another is default-constructed.
template <class Formula>
Formula make_formula(const Attributes& attributes) {
  if constexpr (std::is_constructible_v<Formula, const Attributes&>) {
    return Formula(attributes);
  } else {
    return Formula{};
  }
}

// y[i] = formula(x[i]). The formula is a template over float and double.
// The kernel of most activations: one pass, no state, so y may be x's memory.
template <class Formula>
struct UnaryKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const Formula formula = make_formula<Formula>(context.attributes);
    const FloatInput<T> x(context.inputs[0]);
    FloatOutput<T> y(context.outputs[0]);
    for (int64_t i = 0; i < y.size(); ++i) y[i] = formula(x[i]);
    return {};
  }
};

// z[i] = formula(a[i], b[i]).
// Equal sizes by the type rule; neither operand repeats.
template <class Formula>
struct BinaryKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const Formula formula = make_formula<Formula>(context.attributes);
    const FloatInput<T> a(context.inputs[0]), b(context.inputs[1]);
    FloatOutput<T> z(context.outputs[0]);
    for (int64_t i = 0; i < z.size(); ++i) z[i] = formula(a[i], b[i]);
    return {};
  }
};

// An operation x -> y on floats of one type, from its formula.
// The default bound of 4 ulp is for a formula of one transcendental function; see OpDef::f32_bound.
template <class Formula>
OpDef unary_float_op(std::string id, std::string doc, Formula,
                     std::vector<AttributeDef> attributes = {}, double f32_bound = 4) {
  return {.id = std::move(id),
          .doc = std::move(doc),
          .shape_rule = kUnaryShapes,
          .edge_rule = kIeeeEdges,
          .f32_bound = f32_bound,
          .inputs = {op_parts::port("x")},
          .outputs = {op_parts::port("y")},
          .attributes = std::move(attributes),
          .infer = infer_same_floats,
          .reference = float_kernel<UnaryKernel<Formula>>,
          .in_place_input = 0,
          .is_elementwise = true};
}

// The same operation under another id; `inputs` renames the ports.
// New names count from the first port; missing ones stay.
OpDef alias_of(const OpDef& op, std::string id, std::vector<std::string> inputs = {},
               std::vector<std::string> outputs = {});

}  // namespace quern
