// Binding of inputs, symbols and states.
// The first thing wrong is reported; nothing is computed before all is right.
#include "runtime/binding.h"

#include <algorithm>
#include <cstring>

#include "base/fail.h"
#include "quern/op.h"

namespace quern {
namespace {

// One axis of an input: a constant must match; a symbol gets its value at the first input that has
// it and must match after that.
Result<void> bind_dim(const Dim& dim, int64_t extent, int axis, const std::string& name,
                      SymbolValues& symbols) {
  if (dim.is_constant()) {
    if (dim.factor == extent) return {};
    return fail::invalid("Input '{}' has {} along axis {}; the graph needs {}.", name, extent, axis,
                         dim.factor);
  }
  // [2*T] takes even extents only. A factor of 0 comes from text forms; it would divide by zero.
  if (dim.factor == 0 || extent % dim.factor != 0) {
    return fail::invalid("Input '{}' has {} along axis {}; the graph needs a multiple of {}.", name,
                         extent, axis, dim.factor);
  }
  const int64_t value = extent / dim.factor;
  // Negative: not bound yet. A bound value of 0 is one like any other: an empty batch.
  const int64_t known = symbols.get(dim.symbol);
  if (known >= 0 && known != value) {
    return fail::invalid("Input '{}' gives {} = {} along axis {}; another input gives {}.", name,
                         dim.symbol, value, axis, known);
  }
  // Writing an equal value again is harmless and saves a branch.
  symbols.set(dim.symbol, value);
  return {};
}

// One input against its declared type.
Result<void> bind_input(const std::string& name, const TensorType& type, const Tensor& tensor,
                        SymbolValues& symbols) {
  if (tensor.dtype() != type.dtype) {
    return fail::invalid("Input '{}' is {}; the graph needs {}.", name, dtype_name(tensor.dtype()),
                         dtype_name(type.dtype));
  }
  // The whole shape in the text, as no single axis is at fault.
  if (tensor.shape().rank() != type.rank()) {
    return fail::invalid("Input '{}' has shape {}; the graph needs {}.", name,
                         tensor.shape().to_string(), type.to_string());
  }
  for (int axis = 0; axis < type.rank(); ++axis) {
    QUERN_TRY(
        bind_dim(type.dims[static_cast<size_t>(axis)], tensor.shape()[axis], axis, name, symbols));
  }
  return {};
}

// Presence only: whether a store fits the declaration is the backend's to say.
Result<void> check_states(const Graph& graph, const RunArguments& arguments) {
  for (const StateDecl& state : graph.states()) {
    const auto it = arguments.states.find(state.name);
    // A null store would be found by the first kernel, too late to name the state.
    if (it == arguments.states.end() || it->second == nullptr) {
      return fail::invalid("The graph's state '{}' is not bound.", state.name);
    }
  }
  // A store under a misspelt name means that the caller expects it to change.
  for (const auto& [name, store] : arguments.states) {
    if (graph.find_state(name) == nullptr) {
      return fail::invalid("The graph has no state '{}'.", name);
    }
  }
  return {};
}

}  // namespace

// For callers that run once.
Result<SymbolValues> bind_arguments(const Graph& graph, const RunArguments& arguments) {
  return bind_arguments(graph, graph.inputs(), arguments);
}

// Input by input, then states.
Result<SymbolValues> bind_arguments(const Graph& graph, std::span<const NodeId> inputs,
                                    const RunArguments& arguments) {
  SymbolValues symbols;
  for (const NodeId id : inputs) {
    // Inputs are bound by the node's name, which is also that of its value.
    const Node& node = graph.node(id);
    const auto it = arguments.inputs.find(node.name);
    if (it == arguments.inputs.end()) {
      return fail::invalid("The graph's input '{}' is not bound.", node.name);
    }
    QUERN_TRY(bind_input(node.name, graph.value(node.outputs[0]).type, it->second, symbols));
  }
  // All inputs of the graph were found; with an equal count nothing else can be there.
  if (arguments.inputs.size() != inputs.size()) {
    for (const auto& [name, tensor] : arguments.inputs) {
      const ValueId value = graph.find_value(name);
      // The name of an inner value is no input either: binding one would be without effect.
      if (value == kNoValue || graph.node(graph.value(value).producer).op->id != "Input") {
        return fail::invalid("The graph has no input '{}'.", name);
      }
    }
  }
  QUERN_TRY(check_states(graph, arguments));
  return symbols;
}

// A wrong name would leave the caller's memory unwritten in silence.
Result<void> check_output_names(const RunArguments& arguments,
                                std::span<const GraphOutput> results) {
  for (const auto& [name, tensor] : arguments.outputs) {
    // Results are few; the readable values count as results.
    const bool is_known = std::ranges::any_of(
        results, [&](const GraphOutput& result) { return result.name == name; });
    if (!is_known) return fail::invalid("The graph has no output '{}' to write.", name);
  }
  return {};
}

// Checked before anything is computed.
Result<const Tensor*> find_bound_output(const RunArguments& arguments, std::string_view name,
                                        DType dtype, const Shape& shape) {
  const auto it = arguments.outputs.find(name);
  if (it == arguments.outputs.end()) return nullptr;
  const Tensor& output = it->second;
  if (output.dtype() != dtype || !(output.shape() == shape)) {
    return fail::invalid("The memory for output '{}' is {}{}; the result is {}{}.", name,
                         dtype_name(output.dtype()), output.shape().to_string(), dtype_name(dtype),
                         shape.to_string());
  }
  // Read-only memory, such as a mapped file, is refused here and not by a fault in a kernel.
  Buffer buffer = output.buffer();
  QUERN_TRY(buffer.mutable_host_view());
  return &output;
}

// Bytes; both have the same type.
Result<void> copy_to_output(const Tensor& result, const Tensor& output) {
  QUERN_ASSIGN_OR_RETURN(const auto source, result.host_view());
  Buffer buffer = output.buffer();
  QUERN_ASSIGN_OR_RETURN(const auto destination, buffer.mutable_host_view());
  const auto size = static_cast<size_t>(result.size_bytes());
  // The run wrote straight into the caller's memory.
  if (source.data() == destination.data()) return {};
  // Outputs that the caller laid over each other are his affair, but not undefined behaviour.
  if (size > 0) std::memmove(destination.data(), source.data(), size);
  return {};
}

// Outputs first; a value may be both.
Result<std::vector<GraphOutput>> readable_outputs(const Graph& graph,
                                                  const std::vector<std::string>& readable) {
  std::vector<GraphOutput> outputs(graph.outputs().begin(), graph.outputs().end());
  for (const std::string& name : readable) {
    // An output's name may differ from its value's; readable names are those of values.
    const ValueId value = graph.find_value(name);
    if (value == kNoValue) return fail::not_found("The graph has no value '{}' to read.", name);
    outputs.push_back({name, value});
  }
  return outputs;
}

}  // namespace quern
