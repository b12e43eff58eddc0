// What a fused node computes: a straight line of operations, as the text of one attribute.
//   math.mul(x0, x1); activation.gelu(v0) {approximate = "tanh"}
// x0, x1, ... are the tensors that the node gives the program, v0, v1, ... the results of its
// instructions, "_" an absent input; the last result is the program's. The empty program gives x0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/op.h"

namespace quern {

// A port of an instruction: absent, input x`index` or result v`index`.
struct FusedOperand {
  enum class Kind : uint8_t { kAbsent, kInput, kResult };
  Kind kind = Kind::kAbsent;
  int32_t index = 0;
  bool operator==(const FusedOperand&) const = default;
};

// `op` points into the registry, which outlives the program. `operands` has one entry for each port
// given; trailing absent ports may be left out.
struct FusedInstruction {
  const OpDef* op = nullptr;
  std::vector<FusedOperand> operands;
  Attributes attributes;  // complete
};

// Immutable once made; operands name inputs, or results of earlier instructions.
struct FusedProgram {
  std::vector<FusedInstruction> instructions;

  // Parses back to the same program; attributes with their default values are left out.
  std::string to_string() const;
  // Whether all instructions are elementwise operations.
  // Also true for the empty program, which passes x0 on.
  bool is_elementwise() const;
};

// Programs longer than this are refused: they come from files.
inline constexpr size_t kMaxFusedInstructions = 256;

// Errors: a text that is no program, with its column; an operation that is unknown, not pure, or
// has not one output and a reference kernel; attributes that the operation does not take.
Result<FusedProgram> parse_fused_program(std::string_view text, const OpRegistry& registry);

// The type of the result for inputs of these types, by the rules of the operations.
// Errors: an operand beyond the inputs, or what the rules say.
// Every input must be read by some instruction, but for the empty program.
Result<TensorType> infer_fused_program(const FusedProgram& program,
                                       std::span<const TensorType* const> inputs);

// Runs the reference kernel of each instruction in turn, each result rounded to its own type.
// `inputs` and `output` have the types that infer_fused_program has checked. Errors: those of the
// kernels.
Result<void> run_fused_program(const FusedProgram& program, std::span<const TensorView> inputs,
                               const TensorView& output);

}  // namespace quern
