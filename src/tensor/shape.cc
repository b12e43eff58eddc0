// Extents with checked products.
#include "quern/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/fail.h"

namespace quern {

// For literals in the program; too many extents are a defect.
Shape::Shape(std::initializer_list<int64_t> dims) {
  QUERN_CHECK(dims.size() <= kMaxRank);
  for (const int64_t extent : dims) dims_[static_cast<size_t>(rank_++)] = extent;
}

// For extents from outside: refuses negative ones and more elements than can be counted.
Result<Shape> Shape::make(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return fail::invalid("A shape of rank {} is over the limit of {}.", dims.size(), kMaxRank);
  }
  Shape shape;
  int64_t product = 1;
  for (const int64_t extent : dims) {
    if (extent < 0) return fail::invalid("The extent {} of a shape is negative.", extent);
    // Extents of 0 count as 1: then the product of any subset of axes, such as num_rows(), fits
    // too.
    const auto next = checked_multiply(product, std::max<int64_t>(extent, 1));
    // 2^62 and not 2^63: the sum of two counts fits too.
    if (!next || *next >= int64_t{1} << 62) {
      return fail::invalid("A shape with the extent {} has 2^62 elements or more.", extent);
    }
    product = *next;
    shape.push_back(extent);
  }
  return shape;
}

int64_t Shape::num_elements() const {
  int64_t product = 1;
  for (const int64_t extent : dims()) product *= extent;
  return product;
}

int64_t Shape::num_rows() const {
  int64_t product = 1;
  for (int axis = 0; axis + 1 < rank_; ++axis) product *= dims_[static_cast<size_t>(axis)];
  return product;
}

void Shape::push_back(int64_t extent) {
  QUERN_CHECK(rank_ < kMaxRank);
  dims_[static_cast<size_t>(rank_++)] = extent;
}

std::string Shape::to_string() const {
  return fmt::format("[{}]", fmt::join(dims(), ", "));
}

bool Shape::operator==(const Shape& other) const {
  return std::ranges::equal(dims(), other.dims());
}

}  // namespace quern
