// The extents of a tensor at run time.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "quern/error.h"

namespace quern {

inline constexpr int kMaxRank = 8;

// Up to kMaxRank extents, each >= 0, with a product below 2^62. A plain value.
class Shape {
 public:
  Shape() = default;  // rank 0: one element
  // For extents known to be valid; anything from outside goes through make().
  Shape(std::initializer_list<int64_t> dims);
  // Errors: rank over kMaxRank, a negative extent, or an element count of 2^62 or more.
  static Result<Shape> make(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t& operator[](int axis) { return dims_[axis]; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  int64_t num_elements() const;
  // Extent of the last axis; 1 for rank 0.
  int64_t last() const { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  // Product of all extents but the last.
  int64_t num_rows() const;
  void push_back(int64_t extent);
  std::string to_string() const;  // "[2, 3]"
  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace quern
