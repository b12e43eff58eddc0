// Inputs, attributes and outputs of a node.
// What an operator needs to know at build time comes from constants and initialisers of the model.
#include "formats/onnx/node_context.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "ops/float_rows.h"
#include "tensor/convert.h"

namespace quern::onnx {
namespace {

// The elements as another type.
template <class T>
std::vector<double> widened(const TensorView& view) {
  const std::span<const T> values(view.as<const T>(),
                                  static_cast<size_t>(view.shape.num_elements()));
  return {values.begin(), values.end()};
}

}  // namespace

// Any numeric type. Errors: types without numbers.
Result<std::vector<double>> numbers_of(const Tensor& tensor) {
  QUERN_ASSIGN_OR_RETURN(auto bytes, tensor.read());
  const TensorView view{tensor.dtype(), tensor.shape(), bytes.data()};
  if (tensor.shape().num_elements() == 0) return std::vector<double>{};
  switch (tensor.dtype()) {
    case DType::kI64:
      return widened<int64_t>(view);
    case DType::kU64:
      return widened<uint64_t>(view);
    case DType::kI32:
      return widened<int32_t>(view);
    case DType::kU32:
      return widened<uint32_t>(view);
    default:
      break;
  }
  if (can_widen(tensor.dtype())) return load_all<double>(view);
  return fail::unimplemented("A constant of {} cannot be read.", dtype_name(tensor.dtype()));
}

// Errors: fractions, NaN, infinity, magnitudes of 9e15 (about 2^53) or more.
Result<std::vector<int64_t>> integers_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::kI64) return tensor.read_as<int64_t>();
  QUERN_ASSIGN_OR_RETURN(const std::vector<double> numbers, numbers_of(tensor));
  std::vector<int64_t> integers;
  for (const double number : numbers) {
    if (!(std::abs(number) < 9e15) || number != std::trunc(number))
      return fail::invalid("{} is not an integer.", number);
    integers.push_back(static_cast<int64_t>(number));
  }
  return integers;
}

// Errors are the builder's.
ValueId constant_of(TensorAlgebra& algebra, const Tensor& tensor) {
  auto numbers = numbers_of(tensor);
  if (!numbers) {
    algebra.builder().set_error(numbers.error());
    return kNoValue;
  }
  const auto extents = tensor.shape().dims();
  return algebra.constant(tensor.dtype(), {extents.begin(), extents.end()}, std::move(*numbers));
}

// Negative axes count from the end. Errors: outside of the rank.
Result<int64_t> normal_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return fail::invalid("Axis {} is outside a tensor of rank {}.", axis, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

// Known tensors become constants of the graph at their first use.
ValueId NodeContext::in(size_t i) {
  if (!has(i)) return kNoValue;
  const std::string& name = node_.inputs[i];
  const auto it = names_.values.find(name);
  if (it != names_.values.end()) return it->second;
  ValueId value = kNoValue;
  if (const auto pending = names_.pending.find(name); pending != names_.pending.end()) {
    // Only now is it an input of the graph: one that no node reads must not have to be bound.
    value = algebra_.builder().input(name, pending->second);
  } else if (const auto known = known_.find(name); known != known_.end()) {
    value = constant_of(algebra_, known->second);
  } else {
    algebra_.refuse(fmt::format("Input '{}' has no value.", name));
  }
  names_.values.emplace(name, value);
  return value;
}

// The type by ONNX's number; 0 where the input is absent.
int32_t NodeContext::data_type(size_t i) const {
  if (!has(i)) return 0;
  const auto it = names_.data_types.find(node_.inputs[i]);
  return it == names_.data_types.end() ? 0 : it->second;
}

// For operators with any number of inputs.
std::vector<ValueId> NodeContext::all_inputs() {
  std::vector<ValueId> values;
  for (size_t i = 0; i < num_inputs(); ++i) values.push_back(in(i));
  return values;
}

// The value of an input that must be known while the graph is built. Errors name operator and
// input.
Result<Tensor> NodeContext::known(size_t i) {
  if (!has(i)) return fail::invalid("{} needs its input {}.", node_.op_type, i);
  const auto it = known_.find(node_.inputs[i]);
  if (it != known_.end()) return it->second;
  return fail::unimplemented("Input '{}' of {} must be known when the model is read.",
                             node_.inputs[i], node_.op_type);
}

Result<std::vector<int64_t>> NodeContext::ints(size_t i) {
  QUERN_ASSIGN_OR_RETURN(const Tensor tensor, known(i));
  return integers_of(tensor);
}

Result<std::vector<double>> NodeContext::numbers(size_t i) {
  QUERN_ASSIGN_OR_RETURN(const Tensor tensor, known(i));
  return numbers_of(tensor);
}

Result<int64_t> NodeContext::known_int(size_t i) {
  QUERN_ASSIGN_OR_RETURN(const auto values, ints(i));
  if (values.size() == 1) return values[0];
  return fail::invalid("Input {} of {} has {} elements; one is needed.", i, node_.op_type,
                       values.size());
}

Result<double> NodeContext::known_number(size_t i) {
  QUERN_ASSIGN_OR_RETURN(const auto values, numbers(i));
  if (values.size() == 1) return values[0];
  return fail::invalid("Input {} of {} has {} elements; one is needed.", i, node_.op_type,
                       values.size());
}

// Attributes with what the operator's description says where they are absent.
int64_t NodeContext::integer(std::string_view name, int64_t fallback) const {
  const OnnxAttribute* attribute = node_.find(name);
  return attribute == nullptr ? fallback : attribute->integer;
}
double NodeContext::number(std::string_view name, double fallback) const {
  const OnnxAttribute* attribute = node_.find(name);
  return attribute == nullptr ? fallback : static_cast<double>(attribute->number);
}
std::string NodeContext::text(std::string_view name, std::string_view fallback) const {
  const OnnxAttribute* attribute = node_.find(name);
  return attribute == nullptr ? std::string(fallback) : attribute->text;
}
std::vector<int64_t> NodeContext::integers(std::string_view name,
                                           std::vector<int64_t> fallback) const {
  const OnnxAttribute* attribute = node_.find(name);
  return attribute == nullptr ? std::move(fallback) : attribute->integers;
}

// An axis, made positive.
Result<int64_t> NodeContext::axis(std::string_view name, int64_t fallback, int64_t rank) const {
  return normal_axis(integer(name, fallback), rank);
}

// Names the value as the output; nothing where nobody wants it.
void NodeContext::out(size_t i, ValueId value) {
  // An optional output that the model leaves out has an empty name.
  if (!wants(i)) return;
  names_.values.insert_or_assign(node_.outputs[i], value);
  // A name that was known before means this value now.
  known_.erase(node_.outputs[i]);
}

// No node is made here: in() makes a constant where something reads the value.
void NodeContext::out_known(size_t i, Tensor tensor) {
  if (!wants(i)) return;
  known_.insert_or_assign(node_.outputs[i], std::move(tensor));
  names_.values.erase(node_.outputs[i]);
}

// Errors: extents that no tensor has.
Result<void> NodeContext::out_numbers(size_t i, DType dtype, const Dims& dims,
                                      std::span<const double> values) {
  QUERN_ASSIGN_OR_RETURN(const Shape shape, Shape::make(dims));
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(dtype, shape));
  QUERN_ASSIGN_OR_RETURN(const std::span<std::byte> bytes, tensor.buffer().mutable_host_view());
  QUERN_TRY(store_numbers(TensorView{dtype, shape, bytes.data()}, values));
  out_known(i, std::move(tensor));
  return {};
}
Result<void> NodeContext::out_integers(size_t i, const Dims& dims,
                                       std::span<const int64_t> values) {
  QUERN_ASSIGN_OR_RETURN(const Shape shape, Shape::make(dims));
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::from<int64_t>(DType::kI64, shape, values));
  out_known(i, std::move(tensor));
  return {};
}

// The first error of the algebra, if any.
Result<void> NodeContext::finish() {
  if (!algebra_.has_error()) return {};
  return tl::unexpected(algebra_.builder().finish().error());
}

}  // namespace quern::onnx
