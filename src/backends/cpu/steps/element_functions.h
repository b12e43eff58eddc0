// The kernels of elementwise operations by operation id.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "backends/cpu/kernels/elementwise_kernels.h"
#include "backends/cpu/machine.h"
#include "quern/graph.h"

namespace quern::cpu {

// A function of one or two tensors with its parameters, from the attributes.
struct ElementFunction {
  bool is_binary = false;
  UnaryFunction unary = UnaryFunction::kCount;
  BinaryFunction binary = BinaryFunction::kCount;
  double a = 0;
  double b = 0;
  int64_t cost = 1;  // of an element, in units of for_ranges
};

// The function of an operation (not of an alias) on the elements of whole tensors; nothing if there
// is no kernel for it. Attributes are complete.
std::optional<ElementFunction> find_element_function(std::string_view op_id,
                                                     const Attributes& attributes);
// The function on the two halves of packed rows (activation.swiglu); nothing for other operations.
std::optional<ElementFunction> find_gate_function(std::string_view op_id,
                                                  const Attributes& attributes);
// Whether find_element_function() would find one.
bool has_element_function(std::string_view op_id);

template <class T>
const ElementwiseFunctions<T>& element_functions(const Machine& machine) {
  return functions_of<T>(machine.kernels.elementwise);
}

}  // namespace quern::cpu
