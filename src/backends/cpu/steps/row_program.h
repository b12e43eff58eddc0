// A fused program made ready for the kernels: runs on a piece of a row at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/kernels/norm_kernels.h"
#include "backends/cpu/steps/element_functions.h"
#include "ops/fused_program.h"

namespace quern::cpu {

// T is the type that operations on `dtype` compute in. Each result rounds to `dtype`, as the
// operations one by one would. Immutable; run() is thread-safe.
template <class T>
class RowProgram {
 public:
  // Elements of a piece: what the results of a long program leave of the first-level cache.
  static constexpr int64_t kPiece = 2048 / static_cast<int64_t>(sizeof(T));

  // Nothing if an instruction has no kernel here.
  static std::optional<RowProgram> make(const FusedProgram& program, DType dtype,
                                        const Machine& machine);

  // Operands x0, x1, ... and the result; n elements each. Scratch holds scratch_rows() * n
  // elements. With a norm, n is a whole row. The result may lie over an operand at the same place.
  void run(std::span<const T* const> inputs, T* result, int64_t n, T* scratch) const;

  // Narrow values round once and widen again, as a tensor of the program's dtype would hold them.
  void round_to_dtype(T* values, int64_t n) const;

  int64_t scratch_rows() const { return num_slots_; }
  // Of an element, in units of for_ranges.
  int64_t cost() const { return cost_; }
  bool has_norm() const { return has_norm_; }

 private:
  // Where an operand is: an input, the result of an instruction (later a slot of the scratch), or
  // (absent) nowhere.
  struct Place {
    FusedOperand::Kind kind = FusedOperand::Kind::kAbsent;
    int32_t index = 0;
  };
  using Norm = void (*)(const NormRow<T>&);
  struct Instruction {
    typename ElementwiseFunctions<T>::Unary unary = nullptr;
    typename ElementwiseFunctions<T>::Binary binary = nullptr;
    typename ElementwiseFunctions<T>::Ternary ternary = nullptr;
    Norm norm = nullptr;
    T a = T(0);  // parameters; eps of a norm
    T b = T(0);
    std::vector<Place> operands;
    int32_t slot = 0;  // of the result; -1: the program's own
  };

  bool add(const FusedInstruction& source, const Machine& machine);
  static bool join(Instruction& first, int32_t first_index, const Instruction& second,
                   const ElementwiseFunctions<T>& kernels);
  void join_neighbours(const ElementwiseFunctions<T>& kernels);
  std::vector<size_t> last_readers() const;
  void assign_slots();

  DType dtype_ = DType::kF32;
  std::vector<Instruction> instructions_;
  int32_t num_slots_ = 0;
  int64_t cost_ = 0;
  bool has_norm_ = false;
};

extern template class RowProgram<float>;
extern template class RowProgram<double>;

}  // namespace quern::cpu
