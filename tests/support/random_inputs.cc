// Inputs and weights of random values.
#include "support/random_inputs.h"

#include <gtest/gtest.h>

#include "quern/op.h"

namespace quern::test {
namespace {

// For symbols without a value: odd, and no vector width.
constexpr int64_t kExtent = 5;

Shape shape_of(const TensorType& type, const SymbolValues& symbols) {
  Shape shape;
  for (const Dim& dim : type.dims) {
    const int64_t known = dim.is_constant() ? 1 : symbols.get(dim.symbol);
    shape.push_back(dim.factor * (known < 0 ? kExtent : known));
  }
  return shape;
}

template <class Int>
Tensor small_integers(DType dtype, const Shape& shape, std::mt19937& random) {
  std::vector<Int> values(static_cast<size_t>(shape.num_elements()));
  // Integers are often indices, and those of 0 to 2 fit most extents.
  for (Int& value : values) value = static_cast<Int>(random() % 3);
  return *Tensor::from<Int>(dtype, shape, values);
}

Tensor tensor_for(const TensorType& type, const SymbolValues& symbols, std::mt19937& random,
                  int special_every) {
  const Shape shape = shape_of(type, symbols);
  if (type.dtype == DType::kI32) return small_integers<int32_t>(type.dtype, shape, random);
  if (type.dtype == DType::kI64) return small_integers<int64_t>(type.dtype, shape, random);
  return random_tensor(type.dtype, shape, random, special_every);
}

}  // namespace

GraphInputs random_inputs(const Graph& graph, std::mt19937& random, int special_every,
                          const SymbolValues& symbols) {
  GraphInputs inputs;
  for (const Node& node : graph.nodes()) {
    const bool is_weight = node.op->id == "graph.weight";
    if (node.op->id != "Input" && !is_weight) continue;
    const TensorType& type = graph.value(node.outputs[0]).type;
    // A weight is finite: its format may have no infinity.
    Tensor tensor = tensor_for(type, symbols, random, is_weight ? 0 : special_every);
    if (is_weight) {
      inputs.weights.add(node.attributes.text("weight"), std::move(tensor));
    } else {
      inputs.tensors.insert_or_assign(node.name, std::move(tensor));
    }
  }
  return inputs;
}

}  // namespace quern::test
