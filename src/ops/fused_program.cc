// Text, types and reference kernel of fused programs.
#include "ops/fused_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>

#include "base/fail.h"
#include "ir/node_rules.h"
#include "ir/text_cursor.h"
#include "quern/tensor.h"

namespace quern {
namespace {

using Kind = FusedOperand::Kind;

// "x1" for an input, "v0" for a result, "_" for an absent port.
std::string operand_text(const FusedOperand& operand) {
  if (operand.kind == Kind::kAbsent) return "_";
  return fmt::format("{}{}", operand.kind == Kind::kInput ? 'x' : 'v', operand.index);
}

// An instruction as the parser reads it; attributes at their defaults are left out, so that
// equal programs have equal texts.
// Both the parser and the printer go through this form: a graph that is written and read again has
// equal text.
std::string instruction_text(const FusedInstruction& instruction) {
  std::string text = instruction.op->id + "(";
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    text += (i == 0 ? "" : ", ") + operand_text(instruction.operands[i]);
  }
  text += ")";
  std::string attributes;
  for (const auto& [name, value] : instruction.attributes) {
    const AttributeDef* def = instruction.op->find_attribute(name);
    if (def != nullptr && def->default_value && *def->default_value == value) continue;
    attributes +=
        fmt::format("{}{} = {}", attributes.empty() ? "" : ", ", name, attribute_to_string(value));
  }
  return attributes.empty() ? text : text + " {" + attributes + "}";
}

// "x3", "v0" or "_".
// `num_results` is the number of instructions before this one: results can be read only then, which
// makes loops impossible.
Result<FusedOperand> parse_operand(TextCursor& cursor, size_t num_results) {
  QUERN_ASSIGN_OR_RETURN(const std::string name, cursor.name());
  if (name == "_") return FusedOperand{};
  FusedOperand operand{name[0] == 'x' ? Kind::kInput : Kind::kResult, 0};
  // from_chars refuses signs other than '-', leading blanks and overflow; the negative is refused
  // here.
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + 1, end, operand.index);
  const bool is_number = parsed.ec == std::errc{} && parsed.ptr == end && operand.index >= 0;
  if (!is_number || (name[0] != 'x' && name[0] != 'v')) {
    return cursor.error(fmt::format("'{}' is no operand: x0 is an input, v0 a result", name));
  }
  const bool is_early =
      operand.kind == Kind::kResult && static_cast<size_t>(operand.index) >= num_results;
  if (is_early) return cursor.error(fmt::format("'{}' is used before it is made", name));
  return operand;
}

// One instruction: operation, operands, attributes. Only pure operations with one output can be
// fused; the node around them has one output and no state.
// Random, state and external effects would need ports that the fused node does not have.
Result<FusedInstruction> parse_instruction(TextCursor& cursor, const OpRegistry& registry,
                                           size_t num_results) {
  FusedInstruction made;
  QUERN_ASSIGN_OR_RETURN(const std::string id, cursor.name());
  made.op = registry.find(id);
  if (made.op == nullptr) return fail::not_found("There is no operation '{}'.", id);
  const bool is_usable = made.op->effect == Effect::kPure && made.op->outputs.size() == 1 &&
                         made.op->reference != nullptr && !made.op->inputs.empty();
  if (!is_usable) {
    return fail::invalid(
        "{} cannot stand in a fused program: it needs inputs, one output and no effect.", id);
  }
  QUERN_TRY(cursor.expect("("));
  do {
    QUERN_ASSIGN_OR_RETURN(const FusedOperand operand, parse_operand(cursor, num_results));
    made.operands.push_back(operand);
  } while (cursor.accept(","));
  QUERN_TRY(cursor.expect(")"));
  // All attributes with defaults filled in, and checked by name and kind.
  QUERN_ASSIGN_OR_RETURN(const Attributes given, cursor.attributes());
  QUERN_ASSIGN_OR_RETURN(made.attributes, complete_attributes(*made.op, given));
  return made;
}

// The types of all results in order.
// `results` reserves its size first: types of earlier results are pointed to while later ones are
// added.
Result<std::vector<TensorType>> infer_results(const FusedProgram& program,
                                              std::span<const TensorType* const> inputs) {
  std::vector<TensorType> results;
  results.reserve(program.instructions.size());  // pointers into it stay
  for (const FusedInstruction& instruction : program.instructions) {
    std::vector<const TensorType*> types;
    for (const FusedOperand& operand : instruction.operands) {
      const auto index = static_cast<size_t>(operand.index);
      const bool is_missing =
          operand.kind == Kind::kInput && (index >= inputs.size() || inputs[index] == nullptr);
      if (is_missing) {
        return fail::invalid("The program reads x{}, but the node gives it {} tensors.",
                             operand.index, inputs.size());
      }
      if (operand.kind == Kind::kAbsent) types.push_back(nullptr);
      if (operand.kind == Kind::kInput) types.push_back(inputs[index]);
      if (operand.kind == Kind::kResult) types.push_back(&results[index]);
    }
    // Dummy value ids: check_ports asks only which ports are present.
    std::vector<ValueId> ports;
    for (const TensorType* type : types) ports.push_back(type == nullptr ? kNoValue : 0);
    QUERN_TRY(check_ports(*instruction.op, ports));
    // Trailing absent ports.
    types.resize(std::max(types.size(), instruction.op->inputs.size()), nullptr);
    auto inferred =
        instruction.op->infer(InferContext{types, instruction.attributes, {}, instruction.op});
    if (!inferred) return tl::unexpected(inferred.error().with_context(instruction.op->id));
    results.push_back(std::move(inferred->front()));
  }
  return results;
}

// A concrete shape as a type, for the rules.
TensorType type_of(const TensorView& view) {
  TensorType type{view.dtype, {}};
  for (const int64_t extent : view.shape.dims()) type.dims.push_back(Dim::constant(extent));
  return type;
}

// Types of all results for given tensors: the kernel has no types at hand.
// Extents are all known in a kernel, so that the rules give static types.
Result<std::vector<TensorType>> infer_on_views(const FusedProgram& program,
                                               std::span<const TensorView> inputs) {
  std::vector<TensorType> types;
  for (const TensorView& view : inputs) types.push_back(type_of(view));
  std::vector<const TensorType*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    pointers.push_back(inputs[i].is_present() ? &types[i] : nullptr);
  }
  return infer_results(program, pointers);
}

}  // namespace

// Instructions separated by "; ": the value of the node's attribute 'program'.
std::string FusedProgram::to_string() const {
  std::string text;
  for (const FusedInstruction& instruction : instructions) {
    text += (text.empty() ? "" : "; ") + instruction_text(instruction);
  }
  return text;
}

// Whether a backend may run the program element by element.
bool FusedProgram::is_elementwise() const {
  return std::ranges::all_of(instructions,
                             [](const FusedInstruction& i) { return i.op->is_elementwise; });
}

// Parses what to_string writes. Limits and operand order are checked here, types when a node
// infers.
// At most kMaxFusedInstructions. Operands beyond the node's inputs are found when types are
// inferred, since the text does not know the node.
Result<FusedProgram> parse_fused_program(std::string_view text, const OpRegistry& registry) {
  FusedProgram program;
  // Line 1: the text has no line breaks, so that the column is the place.
  TextCursor cursor(text, 1);
  while (!cursor.is_end()) {
    if (program.instructions.size() == kMaxFusedInstructions) {
      return fail::invalid("A fused program has more than {} instructions.", kMaxFusedInstructions);
    }
    QUERN_ASSIGN_OR_RETURN(FusedInstruction made,
                           parse_instruction(cursor, registry, program.instructions.size()));
    program.instructions.push_back(std::move(made));
    if (cursor.is_end()) break;
    QUERN_TRY(cursor.expect(";"));
  }
  return program;
}

// A tensor that nothing reads has no place in a fused node: its type would go unchecked.
// An operand index beyond the inputs has been refused before.
Result<void> check_all_read(const FusedProgram& program,
                            std::span<const TensorType* const> inputs) {
  std::vector<bool> is_read(inputs.size(), false);
  for (const FusedInstruction& instruction : program.instructions) {
    for (const FusedOperand& operand : instruction.operands) {
      const auto index = static_cast<size_t>(operand.index);
      if (operand.kind == Kind::kInput && index < is_read.size()) is_read[index] = true;
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr && !is_read[i]) {
      return fail::invalid("The program does not read x{}, of {} tensors that it was given.", i,
                           inputs.size());
    }
  }
  return {};
}

// The type of the last result. An empty program passes its first tensor on.
Result<TensorType> infer_fused_program(const FusedProgram& program,
                                       std::span<const TensorType* const> inputs) {
  if (program.instructions.empty()) {
    if (!inputs.empty() && inputs[0] != nullptr) return *inputs[0];
    return fail::invalid("An empty program needs a tensor to give.");
  }
  QUERN_ASSIGN_OR_RETURN(auto results, infer_results(program, inputs));
  QUERN_TRY(check_all_read(program, inputs));
  return std::move(results.back());
}

// Runs instruction by instruction, each on whole tensors; backends that run element by element
// must give the same bits. Intermediate results live until the end.
// The bits of a backend that runs the program per element: every instruction rounds to its own
// type, also when the next one reads it at once.
Result<void> run_fused_program(const FusedProgram& program, std::span<const TensorView> inputs,
                               const TensorView& output) {
  if (program.instructions.empty()) {
    QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(output.dtype, output.shape));
    if (size > 0) std::memcpy(output.data, inputs[0].data, static_cast<size_t>(size));
    return {};
  }
  QUERN_ASSIGN_OR_RETURN(const auto types, infer_on_views(program, inputs));
  // A deque, since the views point into its vectors, which must not move when one is added.
  std::deque<std::vector<std::byte>> memory;
  std::vector<TensorView> results;
  for (size_t i = 0; i < types.size(); ++i) {
    QUERN_ASSIGN_OR_RETURN(const Shape shape, types[i].resolve({}));
    QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(types[i].dtype, shape));
    // The last result goes to the output itself.
    const bool is_last = i + 1 == types.size();
    // A tensor without elements has an address too: null means absent.
    memory.emplace_back(is_last ? 0 : static_cast<size_t>(size) + 1);
    results.push_back(is_last ? output : TensorView{types[i].dtype, shape, memory.back().data()});
    const FusedInstruction& instruction = program.instructions[i];
    std::vector<TensorView> operands;
    for (const FusedOperand& operand : instruction.operands) {
      const auto index = static_cast<size_t>(operand.index);
      if (operand.kind == Kind::kAbsent) operands.emplace_back();
      if (operand.kind == Kind::kInput) operands.push_back(inputs[index]);
      if (operand.kind == Kind::kResult) operands.push_back(results[index]);
    }
    operands.resize(std::max(operands.size(), instruction.op->inputs.size()));
    QUERN_TRY(instruction.op->reference({.inputs = operands,
                                         .outputs = {&results.back(), 1},
                                         .attributes = instruction.attributes}));
  }
  return {};
}

}  // namespace quern
