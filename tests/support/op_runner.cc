// Runs one operation on tensors.
#include "support/op_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/fail.h"
#include "ir/node_rules.h"
#include "ops/kv_state.h"

namespace quern::test {
namespace {

Result<const OpDef*> find_op(std::string_view id) {
  const OpDef* op = builtin_ops().find(id);
  if (op == nullptr) return fail::not_found("There is no operation '{}'.", id);
  return op;
}

TensorType type_of(const Tensor& tensor) {
  TensorType type{.dtype = tensor.dtype(), .dims = {}};
  for (const int64_t extent : tensor.shape().dims()) type.dims.push_back(Dim::constant(extent));
  return type;
}

StateDecl state_of(const KvState& kv, const Attributes& attributes) {
  return {.name = attributes.text("state"),
          .kind = "kv",
          .attributes = {{"layers", kv.num_layers()},
                         {"heads", kv.num_heads()},
                         {"key_dim", kv.key_dim()},
                         {"value_dim", kv.value_dim()},
                         {"key_type", std::string(dtype_name(kv.key_type()))},
                         {"value_type", std::string(dtype_name(kv.value_type()))}}};
}

// Values and ids for the rules of the IR; an empty Tensor becomes kNoValue.
struct PortValues {
  std::vector<Value> values;
  std::vector<ValueId> ids;

  explicit PortValues(const std::vector<Tensor>& inputs) {
    for (const Tensor& input : inputs) {
      add(input.is_empty() ? nullptr : std::make_unique<TensorType>(type_of(input)));
    }
  }
  explicit PortValues(const std::vector<TensorType>& types) {
    for (const TensorType& type : types) add(std::make_unique<TensorType>(type));
  }
  void add(std::unique_ptr<TensorType> type) {
    ids.push_back(type ? static_cast<ValueId>(values.size()) : kNoValue);
    if (type) values.push_back(Value{.type = *type, .name = {}});
  }
};

// The same rules as for any graph.
Result<std::vector<TensorType>> infer(const OpDef& op, const PortValues& ports,
                                      const Attributes& attributes,
                                      std::span<const StateDecl> states) {
  QUERN_TRY(check_ports(op, ports.ids));
  return infer_types(op, ports.values, ports.ids, attributes, states);
}

// Kernels write through the view of an input only where they own it, never in tests. A tensor
// without elements still has an address, since null means absent.
Result<TensorView> view_of(const Tensor& tensor) {
  static std::array<std::byte, 64> nothing{};
  if (tensor.is_empty()) return TensorView{};
  QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.host_view());
  std::byte* data = bytes.empty() ? nothing.data() : const_cast<std::byte*>(bytes.data());
  return TensorView{.dtype = tensor.dtype(), .shape = tensor.shape(), .data = data};
}

Result<std::vector<TensorView>> views_of(const std::vector<Tensor>& tensors, size_t num_ports) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) {
    QUERN_ASSIGN_OR_RETURN(TensorView view, view_of(tensor));
    views.push_back(std::move(view));
  }
  views.resize(std::max(views.size(), num_ports));
  return views;
}

Result<std::vector<Tensor>> allocate(const std::vector<TensorType>& types) {
  std::vector<Tensor> tensors;
  for (const TensorType& type : types) {
    QUERN_ASSIGN_OR_RETURN(const Shape shape, type.resolve({}));
    QUERN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(type.dtype, shape));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

Result<std::vector<Tensor>> run_op(std::string_view id, std::vector<Tensor> inputs,
                                   Attributes attributes, KvState* kv) {
  QUERN_ASSIGN_OR_RETURN(const OpDef* op, find_op(id));
  if (op->reference == nullptr) return fail::unimplemented("{} has no reference kernel.", id);
  QUERN_ASSIGN_OR_RETURN(attributes, complete_attributes(*op, attributes));
  std::vector<StateDecl> states;
  if (kv != nullptr) states.push_back(state_of(*kv, attributes));
  QUERN_ASSIGN_OR_RETURN(const auto types, infer(*op, PortValues(inputs), attributes, states));
  QUERN_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, allocate(types));
  QUERN_ASSIGN_OR_RETURN(const auto input_views, views_of(inputs, op->inputs.size()));
  QUERN_ASSIGN_OR_RETURN(const auto output_views, views_of(outputs, op->outputs.size()));
  QUERN_TRY(op->reference({input_views, output_views, attributes, kv}));
  return outputs;
}

Result<std::vector<TensorType>> infer_op(std::string_view id, const std::vector<TensorType>& inputs,
                                         const Attributes& attributes,
                                         const std::vector<StateDecl>& states) {
  QUERN_ASSIGN_OR_RETURN(const OpDef* op, find_op(id));
  QUERN_ASSIGN_OR_RETURN(const Attributes complete, complete_attributes(*op, attributes));
  return infer(*op, PortValues(inputs), complete, states);
}

Tensor run_one(std::string_view id, std::vector<Tensor> inputs, Attributes attributes,
               KvState* kv) {
  auto outputs = run_op(id, std::move(inputs), std::move(attributes), kv);
  if (!outputs) {
    ADD_FAILURE() << outputs.error().message;
    return Tensor();
  }
  EXPECT_EQ(outputs->size(), 1u);
  return outputs->empty() ? Tensor() : std::move(outputs->front());
}

}  // namespace quern::test
