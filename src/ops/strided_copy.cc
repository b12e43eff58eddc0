// Gathers a strided arrangement of elements into a dense tensor.
#include "ops/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace quern {
namespace {

// The innermost axis: `count` elements, `stride` bytes apart.
void copy_axis(const std::byte* source, int64_t stride, int64_t count, int64_t element_bytes,
               std::byte* target) {
  // Neighbours in memory move as one run.
  if (stride == element_bytes) {
    std::memcpy(target, source, static_cast<size_t>(count * element_bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    // A stride of 0 copies one element again and again.
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

namespace {

// Rows of the target are dense and lie target_stride apart; in the source neighbours stand in a
// column (row_stride is 1). A transposition, in tiles that keep the lines of both sides in the
// first-level cache.
template <class T>
void copy_transposed(const T* source, int64_t row_stride, int64_t column_stride, int64_t rows,
                     int64_t columns, int64_t target_stride, T* target) {
  // 32 by 32 elements of 8 bytes take 8 KiB on each side.
  constexpr int64_t kTile = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    const int64_t r_end = std::min(rows, r0 + kTile);
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t c_end = std::min(columns, c0 + kTile);
      for (int64_t r = r0; r < r_end; ++r) {
        for (int64_t c = c0; c < c_end; ++c) {
          target[r * target_stride + c] = source[r * row_stride + c * column_stride];
        }
      }
    }
  }
}

// An element of 1, 2, 4 or 8 bytes moves as one integer.
void copy_transposed_bytes(const std::byte* source, int64_t row_stride, int64_t column_stride,
                           int64_t rows, int64_t columns, int64_t target_stride,
                           int64_t element_bytes, std::byte* target) {
  const auto run = [&]<class T>(T) {
    copy_transposed(reinterpret_cast<const T*>(source), row_stride, column_stride, rows, columns,
                    target_stride, reinterpret_cast<T*>(target));
  };
  if (element_bytes == 1) return run(uint8_t{});
  if (element_bytes == 2) return run(uint16_t{});
  if (element_bytes == 4) return run(uint32_t{});
  // transposed_axis() lets no other size through than 8.
  run(uint64_t{});
}

// The axis of the target, other than the last, whose neighbours lie side by side in the source; -1
// if there is none or the last axis does.
int transposed_axis(std::span<const int64_t> strides, const Shape& shape, int64_t element_bytes) {
  const int inner = shape.rank() - 1;
  // Elements of 16 bytes (complex128) have no such integer and take the other way.
  const bool has_number_size =
      element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8;
  // A dense last axis is copied in runs, which no tile can beat.
  if (inner < 1 || !has_number_size || strides[static_cast<size_t>(inner)] == 1) return -1;
  for (int axis = inner - 1; axis >= 0; --axis) {
    // An axis of one element has no neighbours to be side by side with.
    if (strides[static_cast<size_t>(axis)] == 1 && shape[axis] > 1) return axis;
  }
  return -1;
}

// Counts up the axes of `shape` but those in `skipped`, and keeps offsets of both sides.
struct OuterIndex {
  std::array<int64_t, kMaxRank> index{};
  int64_t source = 0;
  int64_t target = 0;

  bool advance(const Shape& shape, std::span<const int64_t> strides,
               std::span<const int64_t> target_strides, int skipped) {
    for (int axis = shape.rank() - 2; axis >= 0; --axis) {  // the last axis is skipped too
      if (axis == skipped) continue;
      const auto a = static_cast<size_t>(axis);
      source += strides[a];
      target += target_strides[a];
      if (++index[a] < shape[axis]) return true;
      // The axis has come round: its whole way is taken back, and the next axis counts.
      source -= index[a] * strides[a];
      target -= index[a] * target_strides[a];
      index[a] = 0;
    }
    return false;
  }
};

}  // namespace

void strided_copy(const std::byte* source, std::span<const int64_t> strides, const Shape& shape,
                  int64_t element_bytes, std::byte* target) {
  if (shape.num_elements() == 0) return;
  const int inner = shape.rank() - 1;
  const int transposed = transposed_axis(strides, shape, element_bytes);
  // Tiles over the two axes, once for each combination of the others.
  if (transposed >= 0) {
    const auto target_strides = dense_strides(shape);
    const auto across = static_cast<size_t>(inner), down = static_cast<size_t>(transposed);
    OuterIndex outer;
    do {
      copy_transposed_bytes(source + outer.source * element_bytes, strides[down], strides[across],
                            shape[transposed], shape[inner], target_strides[down], element_bytes,
                            target + outer.target * element_bytes);
    } while (outer.advance(shape, strides, target_strides, transposed));
    return;
  }
  // The last axis is a row of the target; the other axes move the start in the source.
  const int64_t inner_count = shape.last();
  // A scalar is a single row of one element.
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
