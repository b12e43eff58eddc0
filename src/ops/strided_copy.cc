// Gathers a strided arrangement of elements into a dense tensor.
#include "ops/strided_copy.h"

#include <cstring>

namespace quern {
namespace {

// The innermost axis: `count` elements, `stride` bytes apart.
void copy_axis(const std::byte* source, int64_t stride, int64_t count, int64_t element_bytes,
               std::byte* target) {
  if (stride == element_bytes) {
    std::memcpy(target, source, static_cast<size_t>(count * element_bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target + i * element_bytes, source + i * stride,
                static_cast<size_t>(element_bytes));
  }
}

}  // namespace

std::array<int64_t, kMaxRank> dense_strides(const Shape& shape) {
  std::array<int64_t, kMaxRank> strides{};
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

void strided_copy(const std::byte* source, std::span<const int64_t> strides, const Shape& shape,
                  int64_t element_bytes, std::byte* target) {
  if (shape.num_elements() == 0) return;
  const int inner = shape.rank() - 1;
  const int64_t inner_count = shape.last();
  const int64_t inner_stride = inner < 0 ? 0 : strides[static_cast<size_t>(inner)];
  std::array<int64_t, kMaxRank> index{};
  int64_t offset = 0;  // of the current row, in elements
  for (int64_t row = 0; row < shape.num_rows(); ++row) {
    copy_axis(source + offset * element_bytes, inner_stride * element_bytes, inner_count,
              element_bytes, target + row * inner_count * element_bytes);
    for (int axis = inner - 1; axis >= 0; --axis) {  // counts up the outer axes
      const auto a = static_cast<size_t>(axis);
      offset += strides[a];
      if (++index[a] < shape[axis]) break;
      offset -= index[a] * strides[a];
      index[a] = 0;
    }
  }
}

}  // namespace quern
