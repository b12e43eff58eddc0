// Square tiles of 16-byte vectors, transposed: 8 x 8 elements of 16 bits, 4 x 4 of 32 bits. Packing
// turns rows of a file into lanes of a panel, and element by element that costs more than memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace quern::cpu {

// Vectors that every processor we build for moves at once; the compiler lowers the shuffles.
using Halves = uint16_t __attribute__((vector_size(16)));
using Dwords = uint32_t __attribute__((vector_size(16)));

// First halves of a and b, their elements in turn; then second halves.
inline Halves interleave_low(Halves a, Halves b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
inline Halves interleave_high(Halves a, Halves b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
inline Dwords interleave_low(Dwords a, Dwords b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
inline Dwords interleave_high(Dwords a, Dwords b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

// Vector j gets element j of vectors 0, 1, 2, ... Interleaving vector i with vector i + N / 2 moves
// the bits of (row, column) round by one; log2 N rounds exchange row and column.
template <class Vector, int N = static_cast<int>(sizeof(Vector) / sizeof(Vector{}[0]))>
void transpose(Vector (&v)[N]) {
  for (int round = N; round > 1; round /= 2) {
    Vector next[N];
    for (int i = 0; i < N / 2; ++i) {
      next[2 * i] = interleave_low(v[i], v[i + N / 2]);
      next[2 * i + 1] = interleave_high(v[i], v[i + N / 2]);
    }
    for (int i = 0; i < N; ++i) v[i] = next[i];
  }
}

// N rows of 16 bytes, `step_in` bytes apart, to N columns of 16 bytes, `step_out` bytes apart.
// Any alignment.
template <class Vector>
void transpose_tile(const std::byte* in, int64_t step_in, std::byte* out, int64_t step_out) {
  constexpr int kSize = static_cast<int>(sizeof(Vector) / sizeof(Vector{}[0]));
  Vector v[kSize];
  for (int i = 0; i < kSize; ++i) std::memcpy(&v[i], in + i * step_in, sizeof(Vector));
  transpose(v);
  for (int i = 0; i < kSize; ++i) std::memcpy(out + i * step_out, &v[i], sizeof(Vector));
}

}  // namespace quern::cpu
