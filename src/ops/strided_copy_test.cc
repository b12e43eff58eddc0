// Strided copies against element-by-element indexing, for every order of axes and element size.
#include "ops/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace quern {
namespace {

// Element by element.
std::vector<std::byte> expected_copy(const std::vector<std::byte>& source,
                                     const std::vector<int64_t>& strides, const Shape& shape,
                                     int64_t size) {
  std::vector<std::byte> target(static_cast<size_t>(shape.num_elements() * size));
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    int64_t rest = i, offset = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      offset += rest % shape[axis] * strides[static_cast<size_t>(axis)];
      rest /= shape[axis];
    }
    std::memcpy(target.data() + i * size, source.data() + offset * size, static_cast<size_t>(size));
  }
  return target;
}

// All 24 orders of four axes; 35 and 41 leave rests in tiles of 32. Sizes 1 to 8 have an integer
// type and go through the tiles, 16 and 18 do not.
TEST(StridedCopy, EveryOrderOfAxes) {
  const Shape from{3, 35, 2, 41};
  const auto dense = dense_strides(from);
  std::mt19937 random(1);
  // Random bytes: a copy of the wrong element has a chance of 1 in 256 at most to go unseen.
  for (const int64_t size : {1, 2, 4, 8, 16, 18}) {
    std::vector<std::byte> source(static_cast<size_t>(from.num_elements() * size));
    for (std::byte& b : source) b = static_cast<std::byte>(random());
    std::vector<int> order = {0, 1, 2, 3};
    do {
      Shape shape{0, 0, 0, 0};
      std::vector<int64_t> strides;
      for (int axis = 0; axis < 4; ++axis) {
        shape[axis] = from[order[static_cast<size_t>(axis)]];
        strides.push_back(dense[static_cast<size_t>(order[static_cast<size_t>(axis)])]);
      }
      std::vector<std::byte> target(source.size());
      strided_copy(source.data(), strides, shape, size, target.data());
      EXPECT_EQ(target, expected_copy(source, strides, shape, size)) << size;
    } while (std::ranges::next_permutation(order).found);
  }
}

// A repeated axis in front, at the end, and on both sides; strides of extents of 1 do not matter.
TEST(StridedCopy, StridesOfZeroRepeat) {
  const std::vector<std::byte> source = {std::byte{1}, std::byte{2}, std::byte{3}};
  for (const auto& [shape, strides] : {std::pair{Shape{2, 3}, std::vector<int64_t>{0, 1}},
                                       std::pair{Shape{3, 2}, std::vector<int64_t>{1, 0}},
                                       std::pair{Shape{2, 3, 2}, std::vector<int64_t>{0, 1, 0}},
                                       std::pair{Shape{1, 1}, std::vector<int64_t>{5, 7}}}) {
    std::vector<std::byte> target(static_cast<size_t>(shape.num_elements()));
    strided_copy(source.data(), strides, shape, 1, target.data());
    EXPECT_EQ(target, expected_copy(source, strides, shape, 1)) << shape.to_string();
  }
}

// The target keeps its byte, and the source is not read.
TEST(StridedCopy, NothingToCopy) {
  std::byte target{7};
  strided_copy(&target, std::vector<int64_t>{1, 1}, Shape{0, 4}, 1, &target);
  EXPECT_EQ(target, std::byte{7});
}

}  // namespace
}  // namespace quern
