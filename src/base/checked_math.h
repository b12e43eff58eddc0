// Overflow-checked arithmetic for sizes, used wherever numbers come from files or users.
#pragma once

#include <cstdint>
#include <optional>

namespace quern {

inline std::optional<int64_t> checked_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline constexpr int64_t ceil_divide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
inline constexpr int64_t round_up(int64_t a, int64_t multiple) {
  return ceil_divide(a, multiple) * multiple;
}

}  // namespace quern
