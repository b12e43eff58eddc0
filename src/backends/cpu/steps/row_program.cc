// Kernels and scratch slots of fused programs.
#include "backends/cpu/steps/row_program.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/steps/float_rows.h"
#include "quern/op.h"
#include "tensor/convert.h"

namespace quern::cpu {
namespace {

using Kind = FusedOperand::Kind;

constexpr int64_t kNormCost = 2;

}  // namespace

// The kernel of one instruction; false if there is none.
template <class T>
bool RowProgram<T>::add(const FusedInstruction& source, const Machine& machine) {
  Instruction made;
  for (const FusedOperand& operand : source.operands) {
    made.operands.push_back({operand.kind, operand.index});
  }
  const bool is_rms = source.op->id == "math.rmsnorm";
  if (is_rms || source.op->id == "math.layernorm") {
    made.norm = is_rms ? functions_of<T>(machine.kernels.norm).rms_norm
                       : functions_of<T>(machine.kernels.norm).layer_norm;
    made.a = static_cast<T>(source.attributes.number("eps"));
    made.operands.resize(3);
    has_norm_ = true;
    cost_ += kNormCost;
  } else {
    const auto f = find_element_function(source.op->id, source.attributes);
    if (!f) return false;
    const auto& kernels = element_functions<T>(machine);
    if (f->is_binary) {
      made.binary = kernels[f->binary];
    } else {
      made.unary = kernels[f->unary];
    }
    made.a = static_cast<T>(f->a);
    made.b = static_cast<T>(f->b);
    cost_ += f->cost;
  }
  instructions_.push_back(std::move(made));
  return true;
}

// `second` after `first`, whose result it reads, as one instruction in the place of `first`, where
// there is a kernel for both. A sum's operands may change places: NaN is NaN.
template <class T>
bool RowProgram<T>::join(Instruction& first, int32_t first_index, const Instruction& second,
                         const ElementwiseFunctions<T>& kernels) {
  if (second.unary != nullptr && second.unary == kernels[UnaryFunction::kRelu]) {
    if (first.ternary == kernels[TernaryFunction::kMulAdd]) {
      first.ternary = kernels[TernaryFunction::kMulAddRelu];
      return true;
    }
    if (first.binary != kernels[BinaryFunction::kAdd]) return false;
    first.binary = kernels[BinaryFunction::kAddRelu];
    return true;
  }
  const bool is_sum = second.binary == kernels[BinaryFunction::kAdd];
  if (!is_sum || first.binary != kernels[BinaryFunction::kMul]) return false;
  const Place& left = second.operands[0];
  const bool is_left = left.kind == Kind::kResult && left.index == first_index;
  first.operands.push_back(second.operands[is_left ? 1 : 0]);
  first.binary = nullptr;
  first.ternary = kernels[TernaryFunction::kMulAdd];
  return true;
}

// Joins an instruction with the one before it where that is the only one to read its result: one
// pass over the first-level cache instead of two.
template <class T>
void RowProgram<T>::join_neighbours(const ElementwiseFunctions<T>& kernels) {
  const size_t count = instructions_.size();
  std::vector<int> num_readers(count, 0);
  for (const Instruction& instruction : instructions_) {
    for (const Place& place : instruction.operands) {
      if (place.kind == Kind::kResult) ++num_readers[static_cast<size_t>(place.index)];
    }
  }
  std::vector<Instruction> joined;
  std::vector<int32_t> places(count);  // of each result among the joined instructions
  for (size_t i = 0; i < count; ++i) {
    Instruction& instruction = instructions_[i];
    bool reads_last = false;
    for (Place& place : instruction.operands) {
      if (place.kind != Kind::kResult) continue;
      reads_last = reads_last || static_cast<size_t>(place.index) + 1 == i;
      place.index = places[static_cast<size_t>(place.index)];
    }
    const auto last = static_cast<int32_t>(joined.size()) - 1;
    const bool is_joined =
        reads_last && num_readers[i - 1] == 1 && join(joined.back(), last, instruction, kernels);
    if (!is_joined) joined.push_back(std::move(instruction));
    places[i] = static_cast<int32_t>(joined.size()) - 1;
  }
  instructions_ = std::move(joined);
}

// The last instruction that reads the result of each; its own place if none does.
template <class T>
std::vector<size_t> RowProgram<T>::last_readers() const {
  std::vector<size_t> last(instructions_.size());
  for (size_t i = 0; i < instructions_.size(); ++i) {
    last[i] = i;
    for (const Place& place : instructions_[i].operands) {
      if (place.kind == Kind::kResult) last[static_cast<size_t>(place.index)] = i;
    }
  }
  return last;
}

// A slot is free again after the last reader of what it holds; kernels may write over an operand.
// The last result has no slot.
template <class T>
void RowProgram<T>::assign_slots() {
  const size_t count = instructions_.size();
  const std::vector<size_t> last_reader = last_readers();
  std::vector<int32_t> free;
  std::vector<int32_t> slots(count, -1);
  for (size_t i = 0; i < count; ++i) {
    for (Place& place : instructions_[i].operands) {
      if (place.kind != Kind::kResult) continue;
      const auto source = static_cast<size_t>(place.index);
      place.index = slots[source];
      const bool is_known = std::ranges::find(free, slots[source]) != free.end();
      if (last_reader[source] == i && !is_known) free.push_back(slots[source]);
    }
    if (i + 1 == count) {
      instructions_[i].slot = -1;
    } else if (free.empty()) {
      instructions_[i].slot = num_slots_++;
    } else {
      instructions_[i].slot = free.back();
      free.pop_back();
    }
    slots[i] = instructions_[i].slot;
    // A result that nobody reads needs its slot only here.
    if (i + 1 < count && last_reader[i] <= i) free.push_back(slots[i]);
  }
}

template <class T>
std::optional<RowProgram<T>> RowProgram<T>::make(const FusedProgram& program, DType dtype,
                                                 const Machine& machine) {
  RowProgram made;
  made.dtype_ = dtype;
  for (const FusedInstruction& instruction : program.instructions) {
    if (!made.add(instruction, machine)) return std::nullopt;
  }
  // A joined kernel does not round between its steps.
  if (dtype == kDTypeOf<T>) made.join_neighbours(element_functions<T>(machine));
  made.assign_slots();
  return made;
}

template <class T>
void RowProgram<T>::round_to_dtype(T* values, int64_t n) const {
  if (dtype_ == kDTypeOf<T>) return;
  if constexpr (std::is_same_v<T, float>) {
    constexpr int64_t kAtOnce = 256;
    std::array<std::byte, kAtOnce * sizeof(float)> narrow;
    for (int64_t i = 0; i < n; i += kAtOnce) {
      const int64_t count = std::min(kAtOnce, n - i);
      narrow_row(dtype_, values + i, narrow.data(), count);
      widen_row(dtype_, narrow.data(), values + i, count);
    }
  }
}

template <class T>
void RowProgram<T>::run(std::span<const T* const> inputs, T* result, int64_t n, T* scratch) const {
  if (instructions_.empty()) {
    if (result != inputs[0]) std::memmove(result, inputs[0], static_cast<size_t>(n) * sizeof(T));
    return;
  }
  const auto at = [&](const Place& place) -> const T* {
    if (place.kind == Kind::kAbsent) return nullptr;
    if (place.kind == Kind::kInput) return inputs[static_cast<size_t>(place.index)];
    return scratch + place.index * n;
  };
  for (const Instruction& instruction : instructions_) {
    T* to = instruction.slot < 0 ? result : scratch + instruction.slot * n;
    const T* x = at(instruction.operands[0]);
    if (instruction.unary != nullptr) {
      instruction.unary(x, to, n, instruction.a, instruction.b);
    } else if (instruction.binary != nullptr) {
      instruction.binary(x, at(instruction.operands[1]), to, n, instruction.a);
    } else if (instruction.ternary != nullptr) {
      instruction.ternary(x, at(instruction.operands[1]), at(instruction.operands[2]), to, n);
    } else {
      instruction.norm(
          {x, at(instruction.operands[1]), at(instruction.operands[2]), to, n, instruction.a});
    }
    round_to_dtype(to, n);
  }
}

template class RowProgram<float>;
template class RowProgram<double>;

}  // namespace quern::cpu
