// Operands of a fused program beside the rows of its result: whole tensors, and vectors that repeat
// for each row.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "backends/cpu/steps/float_rows.h"

namespace quern::cpu {

// Reads pieces of operands as T: in place where they are T, else converted. Made for each run,
// before the threads share it; read() is thread-safe.
template <class T>
class ProgramOperands {
 public:
  // `result` is the shape that whole operands have; a view of other size is a vector for its last
  // axis. Pieces hold at most `piece` elements.
  ProgramOperands(std::span<const TensorView> views, const Shape& result, int64_t piece)
      : columns_(std::max<int64_t>(1, result.last())),
        rows_per_piece_(std::max<int64_t>(1, piece / columns_)) {
    for (const TensorView& view : views) {
      Operand operand{view, false, {}};
      operand.is_vector = view.is_present() && view.shape.num_elements() != result.num_elements();
      has_vectors_ |= operand.is_vector;
      const bool is_in_place = rows_per_piece_ == 1 && view.dtype == kDTypeOf<T>;
      if (operand.is_vector && !is_in_place) operand.repeated = repeat(view);
      operands_.push_back(std::move(operand));
    }
  }

  size_t count() const { return operands_.size(); }
  bool has_vectors() const { return has_vectors_; }
  // Rows whose vectors one piece may cover: 1 where a row is longer than a piece.
  int64_t rows_per_piece() const { return rows_per_piece_; }

  // Pointers to n elements of each operand: from element `first` of whole ones, from `column` of
  // vectors, which repeat rows_per_piece() times. Null for absent operands. `room` holds count() *
  // n elements for conversions.
  void read(int64_t first, int64_t column, int64_t n, T* room, std::span<const T*> pointers) const {
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      T* own = room + static_cast<int64_t>(i) * n;
      if (!operand.view.is_present()) {
        pointers[i] = nullptr;
      } else if (!operand.repeated.empty()) {
        pointers[i] = operand.repeated.data() + column;
      } else if (operand.view.dtype == kDTypeOf<T>) {
        pointers[i] = operand.view.template as<const T>() + (operand.is_vector ? column : first);
      } else {
        load_row(operand.view, first, n, own);
        pointers[i] = own;
      }
    }
  }

 private:
  struct Operand {
    TensorView view;
    bool is_vector;
    std::vector<T> repeated;  // of a vector that is converted, or repeats inside a piece
  };

  std::vector<T> repeat(const TensorView& view) const {
    std::vector<T> values(static_cast<size_t>(columns_ * rows_per_piece_));
    load_row(view, 0, columns_, values.data());
    for (int64_t row = 1; row < rows_per_piece_; ++row) {
      std::copy_n(values.data(), columns_, values.data() + row * columns_);
    }
    return values;
  }

  int64_t columns_;
  int64_t rows_per_piece_;
  bool has_vectors_ = false;
  std::vector<Operand> operands_;
};

}  // namespace quern::cpu
