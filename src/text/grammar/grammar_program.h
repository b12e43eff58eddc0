// A grammar compiled to instructions on bytes, for GrammarAutomaton.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "quern/error.h"
#include "text/grammar/grammar_ast.h"

namespace quern {

// Index of an instruction.
using GrammarPc = uint32_t;

// An instruction; which members count follows from the operation.
struct GrammarInstruction {
  // What it does.
  enum class Op : uint8_t {
    kAccept,  // the end of the text; only at kAcceptPc
    kByte,    // the byte `byte`, then the next instruction
    kEdges,   // one byte through one of the edges first .. first + count - 1
    kSplit,   // goes on at `first` and at `count`
    kJump,    // goes on at `first`
    kCall,    // goes on at `first`; its kReturn leads to the next instruction
    kReturn,
    kFail,  // goes nowhere
  };
  Op op = Op::kFail;
  uint8_t byte = 0;
  uint32_t first = 0;
  uint32_t count = 0;
};

// Bytes of a range and where they lead.
struct GrammarEdge {
  uint8_t first = 0;
  uint8_t last = 0;  // included
  GrammarPc target = 0;
};

// Where the text may end.
inline constexpr GrammarPc kAcceptPc = 0;

// Not changed once compiled.
struct GrammarProgram {
  // Programs are immutable once made.
  std::vector<GrammarInstruction> code;
  std::vector<GrammarEdge> edges;
  GrammarPc start = 0;
  // Bytes that no instruction tells apart have the same class.
  std::array<uint8_t, 256> class_of_byte = {};
  std::vector<uint8_t> byte_of_class;  // one of them
};

// About 16 MiB of instructions.
inline constexpr size_t kMaxGrammarInstructions = size_t{1} << 20;

// The grammar must have passed check_grammar().
// Errors: kResourceExhausted when it needs over kMaxGrammarInstructions.
Result<GrammarProgram> compile_grammar(const GrammarAst& ast);

}  // namespace quern
