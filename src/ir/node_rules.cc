// Ports, attributes and types of one node.
#include "ir/node_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fail.h"
#include "ir/variadic_port.h"

namespace quern {
namespace {

// The kind for the end of "it must be".
std::string with_article(AttributeKind kind) {
  const std::string_view name = attribute_kind_name(kind);
  if (kind == AttributeKind::kText) return std::string(name);
  return fmt::format("{} {}", kind == AttributeKind::kInteger ? "an" : "a", name);
}

// The value as its declared kind, or nothing.
std::optional<AttributeValue> as_kind(const AttributeValue& value, AttributeKind kind) {
  // A flag is no integer and an integer no flag: only the two widenings to f64 below are allowed.
  // The alternatives of AttributeValue stand in the order of AttributeKind.
  if (value.index() == static_cast<size_t>(kind)) return value;
  if (const auto* integer = std::get_if<int64_t>(&value);
      integer && kind == AttributeKind::kNumber) {
    return static_cast<double>(*integer);
  }
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value);
      list && kind == AttributeKind::kNumbers) {
    return std::vector<double>(list->begin(), list->end());
  }
  return std::nullopt;
}

// One given value, as its declared kind and among its choices.
Result<AttributeValue> check_attribute(const OpDef& op, const AttributeDef& def,
                                       const AttributeValue& value) {
  const auto typed = as_kind(value, def.kind);
  if (!typed) {
    return fail::invalid("Attribute '{}' of {} is {}; it must be {}.", def.name, op.id,
                         attribute_to_string(value), with_article(def.kind));
  }
  if (const auto* text = std::get_if<std::string>(&*typed); text && !def.choices.empty()) {
    if (std::ranges::find(def.choices, *text) == def.choices.end()) {
      return fail::invalid("Attribute '{}' of {} is '{}'; the choices are {}.", def.name, op.id,
                           *text, fmt::join(def.choices, ", "));
    }
  }
  return *typed;
}

// Type rules and kernels walk the values of a variadic port: a gap among them has no meaning.
Result<void> check_variadic(const OpDef& op, std::span<const ValueId> inputs) {
  size_t end = inputs.size();
  while (end > 0 && inputs[end - 1] == kNoValue) --end;
  // The variadic port is the last one: its values begin at that index, and absent inputs before it
  // are optional ports that nobody filled.
  for (size_t i = op.inputs.size() - 1; i < end; ++i) {
    if (inputs[i] != kNoValue) continue;
    return fail::invalid("{} takes any number of inputs '{}', but none that is absent: '{}'.",
                         op.id, op.inputs.back().name, input_name(op.inputs, i));
  }
  return {};
}

// An input that only the other form of an operation reads would be dropped in silence.
Result<void> check_form(const OpDef& op, std::span<const ValueId> inputs,
                        const Attributes& attributes) {
  // Most operations have one form; the attribute `form` exists only where there are two.
  if (op.table_inputs.empty()) return {};
  const size_t num_ports = op.input_ports(attributes).size();
  for (size_t i = num_ports; i < inputs.size(); ++i) {
    if (inputs[i] == kNoValue) continue;
    return fail::invalid("{} takes {} inputs in the form '{}'; input {} is not among them.", op.id,
                         num_ports, attributes.text("form"), i);
  }
  return {};
}

}  // namespace

// First what is given, then what is missing: an unknown name is the likelier mistake.
Result<Attributes> complete_attributes(const OpDef& op, const Attributes& given) {
  Attributes complete;
  for (const auto& [name, value] : given) {
    const AttributeDef* def = op.find_attribute(name);
    if (def == nullptr) {
      return fail::invalid("{} has no attribute '{}' (given: {}).", op.id, name,
                           attribute_to_string(value));
    }
    QUERN_ASSIGN_OR_RETURN(AttributeValue typed, check_attribute(op, *def, value));
    complete.set(name, std::move(typed));
  }
  for (const AttributeDef& def : op.attributes) {
    if (complete.find(def.name) != nullptr) continue;
    if (!def.default_value) return fail::invalid("{} needs the attribute '{}'.", op.id, def.name);
    complete.set(def.name, *def.default_value);
  }
  return complete;
}

// Too many, then missing ones, in port order.
Result<void> check_ports(const OpDef& op, std::span<const ValueId> inputs) {
  const bool is_variadic = !op.inputs.empty() && op.inputs.back().is_variadic;
  if (!is_variadic && inputs.size() > op.inputs.size()) {
    return fail::invalid("{} takes at most {} inputs; {} were given.", op.id, op.inputs.size(),
                         inputs.size());
  }
  for (size_t port = 0; port < op.inputs.size(); ++port) {
    const bool is_absent = port >= inputs.size() || inputs[port] == kNoValue;
    if (is_absent && !op.inputs[port].is_optional) {
      return fail::invalid("{} needs its input '{}'.", op.id, op.inputs[port].name);
    }
  }
  return is_variadic ? check_variadic(op, inputs) : Result<void>{};
}

// Ids come from callers of the builder; the parser's are right.
Result<void> check_ids(std::span<const ValueId> inputs, size_t num_values) {
  for (const ValueId input : inputs) {
    if (input == kNoValue) continue;
    if (input < 0 || static_cast<size_t>(input) >= num_values) {
      return fail::invalid("Input {} is not a value of the graph.", input);
    }
  }
  return {};
}

// Builds what a type rule sees, and holds the rule to the number of outputs that it declares.
Result<std::vector<TensorType>> infer_types(const OpDef& op, std::span<const Value> values,
                                            std::span<const ValueId> inputs,
                                            const Attributes& attributes,
                                            std::span<const StateDecl> states) {
  QUERN_TRY(check_form(op, inputs, attributes));
  // Type rules see an entry for every declared port; optional ones that are absent are null.
  // Longer than the ports only where the last port is variadic.
  std::vector<const TensorType*> types(std::max(inputs.size(), op.inputs.size()), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != kNoValue) types[i] = &values[static_cast<size_t>(inputs[i])].type;
  }
  auto outputs = op.infer(InferContext{types, attributes, states, &op});
  if (!outputs) return tl::unexpected(outputs.error().with_context(op.id));
  if (outputs->size() != op.outputs.size()) {
    // A defect of the operation, not of the graph: hence another code than the errors of its
    // author.
    return fail::internal("{} inferred {} outputs; it declares {}.", op.id, outputs->size(),
                          op.outputs.size());
  }
  return outputs;
}

}  // namespace quern
