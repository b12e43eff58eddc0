// Overflow-checked arithmetic for sizes, used wherever numbers come from files or users.
// All functions are pure and thread-safe.
#pragma once

#include <cstdint>
#include <optional>

namespace quern {

// a * b, or nothing where it does not fit 64 bits.
inline std::optional<int64_t> checked_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// a + b, or nothing where it does not fit 64 bits.
inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// The number of pieces of `b` that hold `a`. Needs a >= 0, b > 0 and a + b below 2^63: for sizes
// that were checked before.
// No check, as it stands in inner loops.
inline constexpr int64_t ceil_divide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
// The smallest multiple of `multiple` that is not below `a`. Needs what ceil_divide() needs.
inline constexpr int64_t round_up(int64_t a, int64_t multiple) {
  return ceil_divide(a, multiple) * multiple;
}

}  // namespace quern
