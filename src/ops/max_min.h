// Maximum and minimum of strict numerics: NaN spreads, +0 is above -0. Built-in number types.
#pragma once

#include <limits>
#include <type_traits>

namespace quern {

// a > b ? a : (b > a ? b : (equal ? a, or +0 of two zeros : NaN)).
// std::max would give one operand or the other for NaN and for two zeros, by their order.
template <class T>
constexpr T strict_max(T a, T b) {
  if (a > b) return a;
  if (b > a) return b;
  // Neither is above the other: equal, or NaN is among them.
  if constexpr (std::is_floating_point_v<T>) {
    // The sum of equal zeros is +0 unless both are -0.
    if (a == b) return a == T(0) ? a + b : a;
    return std::numeric_limits<T>::quiet_NaN();
  }
  return a;
}

// As strict_max, with -0 preferred.
template <class T>
constexpr T strict_min(T a, T b) {
  if (a < b) return a;
  if (b < a) return b;
  if constexpr (std::is_floating_point_v<T>) {
    // Negated before and after, the sum prefers -0: it is +0 only if both zeros are.
    if (a == b) return a == T(0) ? -(-a + -b) : a;
    return std::numeric_limits<T>::quiet_NaN();
  }
  return a;
}

// True where `a` comes before `b` in a search for the largest: NaN counts as largest. Equal
// elements are not before each other, so a scan keeps the lowest index.
// a != a holds for NaN alone; b == b keeps the first NaN ahead of later ones.
template <class T>
constexpr bool is_larger_or_nan(T a, T b) {
  return a > b || (a != a && b == b);
}

// The same for the smallest: NaN counts as smallest.
template <class T>
constexpr bool is_smaller_or_nan(T a, T b) {
  return a < b || (a != a && b == b);
}

}  // namespace quern
