// Compares floating-point arrays by bits; two NaNs are equal whatever their sign and payload.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace quern::test {

template <class T>
bool same_bits(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    // Bits of NaN differ between instruction sets; numerics promise nothing of them.
    return (a != a && b != b) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  } else if constexpr (std::is_same_v<T, double>) {
    return (a != a && b != b) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  } else {
    return a == b;
  }
}

// The message names the first element that differs.
template <class T>
testing::AssertionResult all_same_bits(std::span<const T> actual, std::span<const T> expected) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure()
           << actual.size() << " elements where " << expected.size() << " are expected";
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    if (same_bits(actual[i], expected[i])) continue;
    return testing::AssertionFailure()
           << "element " << i << " is " << actual[i] << ", expected " << expected[i];
  }
  return testing::AssertionSuccess();
}
template <class T>
testing::AssertionResult all_same_bits(const std::vector<T>& actual,
                                       const std::vector<T>& expected) {
  return all_same_bits(std::span<const T>(actual), std::span<const T>(expected));
}

}  // namespace quern::test
