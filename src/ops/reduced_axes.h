// The index arithmetic of a reduction over some axes of a dense tensor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/graph.h"

namespace quern {

// Enumerates some axes of a dense tensor in row-major order. Thread-safe.
class AxisOffsets {
 public:
  AxisOffsets() = default;
  // `axes` ascend.
  AxisOffsets(const Shape& shape, std::span<const int> axes);
  int64_t count() const { return count_; }
  // Offset in the tensor of combination `i` of the axes, with all other axes at 0.
  int64_t operator[](int64_t i) const {
    return list_.empty() ? i * stride_ : list_[static_cast<size_t>(i)];
  }

 private:
  int64_t count_ = 1;
  int64_t stride_ = 0;         // neighbouring axes step evenly
  std::vector<int64_t> list_;  // else all offsets
};

// The split of a shape into reduced axes (all where none are named) and the others.
// Example: x [2, 3, 4] over axes 0 and 2. Output o starts at output_offset(o) = 4 o; its element i
// is at reduced_offset(i) = 12 (i / 4) + i % 4 from there, i = 0 .. 7.
class ReducedAxes {
 public:
  // Errors: an axis out of range or named twice.
  static Result<ReducedAxes> make(const Shape& shape, std::span<const int64_t> axes);

  int64_t num_outputs() const { return kept_.count(); }
  int64_t num_reduced() const { return reduced_.count(); }
  int64_t output_offset(int64_t output) const { return kept_[output]; }
  int64_t reduced_offset(int64_t i) const { return reduced_[i]; }

 private:
  AxisOffsets kept_;
  AxisOffsets reduced_;
};

// The extents after the reduction. Errors as ReducedAxes::make.
// Extents may be symbolic; kept ones stay, reduced ones vanish or become 1.
Result<std::vector<Dim>> reduced_dims(const TensorType& x, std::span<const int64_t> axes,
                                      bool keep_dims);

}  // namespace quern
