// Operations that bind the values a graph starts from: inputs, weights, constants.
#include <cstring>
#include <vector>

#include "base/fail.h"
#include "ir/tensor_type.h"
#include "ops/float_rows.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "quern/tensor.h"
#include "tensor/convert.h"

namespace quern {
namespace {

// Inputs and weights have the type that their attribute declares; nothing is computed.
// No inputs and no kernel: the runtime binds their memory.
Result<std::vector<TensorType>> infer_declared(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(TensorType type, parse_tensor_type(context.attributes.text("type")));
  return std::vector<TensorType>{std::move(type)};
}

// A constant's type must be static, and its list of values as long as the tensor.
Result<std::vector<TensorType>> infer_constant(const InferContext& context) {
  // Block formats and types of less than 8 bits have no single element that a number could become.
  QUERN_ASSIGN_OR_RETURN(const TensorType type, parse_tensor_type(context.attributes.text("type")));
  if (!type.is_static() || !can_widen(type.dtype)) {
    return fail::invalid(
        "A constant has type {}; it needs constant extents and a plain dtype of 8 bits or more.",
        type.to_string());
  }
  // A static type resolves without symbols; the element count is checked against overflow there.
  QUERN_ASSIGN_OR_RETURN(const Shape shape, type.resolve({}));
  const auto given = static_cast<int64_t>(context.attributes.numbers("values").size());
  if (given != shape.num_elements()) {
    return fail::invalid("A constant of type {} has {} values; {} are given.", type.to_string(),
                         shape.num_elements(), given);
  }
  return std::vector<TensorType>{type};
}

// Writes the values; each rounds once from f64 to the dtype.
// The list is row-major, one number for each element: the type rule has counted.
Result<void> run_constant(const KernelContext& context) {
  const TensorView& c = context.outputs[0];
  return store_numbers(c, context.attributes.numbers("values"));
}

// A copy between devices changes no type.
// Where the memory is does not show in a type.
Result<std::vector<TensorType>> infer_copy(const InferContext& context) {
  return std::vector<TensorType>{*context.inputs[0]};
}

// Copies the bytes; both tensors are dense, of any dtype.
// The size must be known in bytes, and for block formats the last extent is whole blocks.
Result<void> run_copy(const KernelContext& context) {
  const TensorView& y = context.outputs[0];
  QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(y.dtype, y.shape));
  if (size > 0) std::memcpy(y.data, context.inputs[0].data, static_cast<size_t>(size));
  return {};
}

}  // namespace

void register_graph_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add({.id = "Input",
                .doc = "Binds an input of the graph; the input's name is the node's name.",
                .shape_rule = "x has the type of the attribute; extents may be symbols, "
                              "bound at each run.",
                .edge_rule = "A run without the input, or with another type, is an error.",
                .f32_bound = 0,
                .outputs = {port("x")},
                .attributes = {text("type", kRequired, "Tensor type, e.g. f32[T, 64].")},
                .infer = infer_declared});
  registry.add({.id = "graph.weight",
                .doc = "Binds a weight of the model by its name in the weight source.",
                .shape_rule = "w has the type of the attribute, any dtype.",
                .edge_rule = "A weight that is missing or has another type is an error when "
                             "the graph is loaded.",
                .f32_bound = 0,
                .outputs = {port("w")},
                .attributes = {text("weight", kRequired, "Name in the weight source."),
                               text("type", kRequired, "Tensor type, e.g. q4_K[576, 256].")},
                .infer = infer_declared});
  registry.add({.id = "graph.copy",
                .doc = "The same values in the memory of another device. Nothing moves between "
                       "devices but by this operation.",
                .shape_rule = "x of any type; y has it.",
                .edge_rule = "Every value is copied bit for bit, NaN too. No elements give none.",
                .inputs = {port("x")},
                .outputs = {port("y")},
                .attributes = {text("from", kRequired, "Device that holds x."),
                               text("to", kRequired, "Device that holds y.")},
                .infer = infer_copy,
                .reference = run_copy});
  registry.add({.id = "graph.constant",
                .doc = "A small constant. Values are f64 and round once to the dtype: floats to "
                       "nearest even, integers as quantising does (ties to even, clamped, NaN 0).",
                .shape_rule = "c has the type of the attribute, with constant extents; one "
                              "value for each element.",
                .edge_rule = "NaN is 0 in integers; infinities clamp in them. Another "
                             "number of values is refused.",
                .f32_bound = 0,
                .outputs = {port("c")},
                .attributes = {text("type", kRequired, "Tensor type with constant extents."),
                               numbers("values", kRequired, "All elements, row-major.")},
                .infer = infer_constant,
                .reference = run_constant});
}

}  // namespace quern
