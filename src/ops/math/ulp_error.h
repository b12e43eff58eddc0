// Test support: the distance of a result from the true value in units in the last place.
#pragma once

#include <cmath>
#include <limits>

namespace quern {

// One ulp of T at the true value: the spacing of T there, that of the denormals near 0.
// `Wide` has more digits than T: double for float, long double for double.
template <class T, class Wide>
Wide ulp_at(Wide exact) {
  using Limits = std::numeric_limits<T>;
  const Wide size = std::fabs(exact);
  if (size < Wide{Limits::min()}) return Wide{Limits::denorm_min()};
  int exponent = 0;
  std::frexp(size, &exponent);
  return std::ldexp(Wide{1}, exponent - Limits::digits);
}

// |result - exact| in ulps of T; +inf where one is NaN and the other is not, or a zero has the
// wrong sign. Beyond the largest T, infinity counts as the next power of two.
template <class T, class Wide>
double ulp_error(T result, Wide exact) {
  using Limits = std::numeric_limits<T>;
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(result) || std::isnan(exact)) {
    return std::isnan(result) && std::isnan(exact) ? 0 : kWrong;
  }
  // What infinity stands for as a number: the next power of two above the largest T.
  const Wide beyond = std::ldexp(Wide{1}, Limits::max_exponent);
  const T rounded = static_cast<T>(exact);
  if (std::isinf(rounded) || std::isinf(result)) {
    if (result == rounded) return 0;
    const Wide a = std::isinf(result) ? std::copysign(beyond, Wide{result}) : Wide{result};
    const Wide b = std::fabs(exact) > beyond ? std::copysign(beyond, exact) : exact;
    // In ulps of the last binade, so that a largest value in place of infinity is one ulp off.
    return static_cast<double>(std::fabs(a - b) / (beyond / std::ldexp(Wide{1}, Limits::digits)));
  }
  if ((result == 0 || exact == 0) && std::signbit(result) != std::signbit(exact)) return kWrong;
  return static_cast<double>(std::fabs(Wide{result} - exact) / ulp_at<T>(exact));
}

}  // namespace quern
