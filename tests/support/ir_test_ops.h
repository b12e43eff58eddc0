// A small registry of operations for tests of the graph itself: every kind of port, attribute and
// effect, without kernels.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/tensor_type.h"
#include "quern/op.h"

namespace quern::test {

inline Result<std::vector<TensorType>> declared_type(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(TensorType type, parse_tensor_type(context.attributes.text("type")));
  return std::vector<TensorType>{std::move(type)};
}

// Each output has the type of input 0.
inline Result<std::vector<TensorType>> first_input_type(const InferContext& context) {
  return std::vector<TensorType>(context.op->outputs.size(), *context.inputs[0]);
}

// Refuses inputs of different types, as a type rule does.
inline Result<std::vector<TensorType>> equal_types(const InferContext& context) {
  for (const TensorType* type : context.inputs) {
    if (type == nullptr || *type == *context.inputs[0]) continue;
    return tl::unexpected(Error{
        ErrorCode::kInvalidArgument,
        "The inputs are " + context.inputs[0]->to_string() + " and " + type->to_string() + "."});
  }
  return first_input_type(context);
}

// Input; test.scale (defaults, choices); test.all (an attribute of each kind); test.sum (variadic);
// test.pick (optional inputs); test.split (two outputs); test.store (effect, no output);
// test.load (effect, reads state); test.random.
inline OpRegistry ir_test_registry() {
  using enum AttributeKind;
  OpRegistry registry;
  registry.add({.id = "Input",
                .outputs = {{"x"}},
                .attributes = {{"type", kText, {}, "", {}}},
                .infer = declared_type});
  registry.add({.id = "test.scale",
                .inputs = {{"x"}},
                .outputs = {{"y"}},
                .attributes = {{"factor", kNumber, 1.0, "", {}},
                               {"mode", kText, std::string("a"), "", {"a", "b"}}},
                .infer = first_input_type});
  registry.add({.id = "test.all",
                .inputs = {{"x"}},
                .outputs = {{"y"}},
                .attributes = {{"flag", kFlag, false, "", {}},
                               {"integer", kInteger, int64_t{0}, "", {}},
                               {"number", kNumber, 0.0, "", {}},
                               {"text", kText, std::string(), "", {}},
                               {"integers", kIntegers, std::vector<int64_t>{}, "", {}},
                               {"numbers", kNumbers, std::vector<double>{}, "", {}}},
                .infer = first_input_type});
  registry.add({.id = "test.sum",
                .inputs = {{.name = "x", .is_variadic = true}},
                .outputs = {{"y"}},
                .infer = equal_types});
  registry.add({.id = "test.pick",
                .inputs = {{"x"},
                           {.name = "bias", .is_optional = true},
                           {.name = "scale", .is_optional = true}},
                .outputs = {{"y"}},
                .infer = first_input_type});
  registry.add({.id = "test.split",
                .inputs = {{"x"}},
                .outputs = {{"low"}, {"high"}},
                .infer = first_input_type});
  registry.add({.id = "test.store",
                .inputs = {{"x"}},
                .attributes = {{"state", kText, std::string("kv"), "", {}}},
                .effect = Effect::kStateWrite,
                .infer = first_input_type});
  registry.add({.id = "test.load",
                .inputs = {{"x"}},
                .outputs = {{"y"}},
                .attributes = {{"state", kText, std::string("kv"), "", {}}},
                .effect = Effect::kStateRead,
                .infer = first_input_type});
  registry.add({.id = "test.random",
                .inputs = {{"x"}},
                .outputs = {{"y"}},
                .effect = Effect::kRandom,
                .infer = first_input_type});
  return registry;
}

}  // namespace quern::test
