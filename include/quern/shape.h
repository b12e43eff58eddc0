// The extents of a tensor at run time.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "quern/error.h"

namespace quern {

// The most axes of a tensor; kernels keep extents and strides in arrays of this size.
inline constexpr int kMaxRank = 8;

// Up to kMaxRank extents, each >= 0, with a product below 2^62, outermost axis first. Rank 0 is one
// element; an extent of 0 makes a shape without elements. A plain value; thread-compatible.
class Shape {
 public:
  Shape() = default;  // rank 0: one element
  // For extents known to be valid; anything from outside goes through make(). More than kMaxRank
  // extents are a defect of the caller and end the process.
  Shape(std::initializer_list<int64_t> dims);
  // Errors: kInvalidArgument for a rank over kMaxRank, a negative extent, or an element count of
  // 2^62 or more (extents of 0 count as 1 here, so that no product of some axes overflows).
  static Result<Shape> make(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  // `axis` is in [0, rank()); it is not checked.
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t& operator[](int axis) { return dims_[axis]; }
  // All extents; the view lives as long as this shape and stays unchanged with it.
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  // Product of all extents; 1 for rank 0.
  int64_t num_elements() const;
  // Extent of the last axis; 1 for rank 0.
  int64_t last() const { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  // Product of all extents but the last; 1 for ranks 0 and 1.
  int64_t num_rows() const;
  // Adds an innermost axis. Needs rank() < kMaxRank.
  void push_back(int64_t extent);
  // "[2, 3]"; "[]" for rank 0.
  std::string to_string() const;
  // Equal rank and extents.
  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace quern
