// Arithmetic of extents that may be symbolic.
#pragma once

#include <optional>
#include <span>

#include "base/checked_math.h"
#include "quern/graph.h"

namespace quern {

// Nothing where the product has two symbols or overflows.
// A Dim is factor * symbol, or a constant. Its range is that of int64; there is no polynomial of
// symbols, so T * T, T + 1 or T / 2 have no Dim.
inline std::optional<Dim> multiply_dims(const Dim& a, const Dim& b) {
  if (!a.is_constant() && !b.is_constant()) return std::nullopt;
  const auto factor = checked_multiply(a.factor, b.factor);
  if (!factor) return std::nullopt;
  // The one that is not constant brings the symbol.
  return Dim{*factor, a.is_constant() ? b.symbol : a.symbol};
}

// The element count of extents; 1 for none.
// Left to right; once nothing, always nothing.
inline std::optional<Dim> multiply_dims(std::span<const Dim> dims) {
  std::optional<Dim> product = Dim::constant(1);
  for (const Dim& dim : dims) {
    if (product) product = multiply_dims(*product, dim);
  }
  return product;
}

// Nothing where the two have different symbols or the sum overflows.
// 2*T + 3*T is 5*T; a constant and a symbol have no sum.
inline std::optional<Dim> add_dims(const Dim& a, const Dim& b) {
  if (a.symbol != b.symbol) return std::nullopt;
  const auto factor = checked_add(a.factor, b.factor);
  if (!factor) return std::nullopt;
  return Dim{*factor, a.symbol};
}

// Nothing where the division leaves a rest for some value of the symbol.
// For every T: 4*T by 2 is 2*T, but T by 2 is nothing. 0 and negative divisors give nothing.
inline std::optional<Dim> divide_dim(const Dim& a, int64_t divisor) {
  if (divisor <= 0 || a.factor % divisor != 0) return std::nullopt;
  return Dim{a.factor / divisor, a.symbol};
}

}  // namespace quern
