// Seeded numbers for properties of operations, and comparison within a tolerance.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "quern/op.h"
#include "support/op_runner.h"

namespace quern::test {

// Normal numbers times `spread`; the same on every machine for one seed, since libraries differ in
// their distributions.
inline std::vector<double> normals(int64_t count, uint32_t seed, double spread = 1) {
  std::mt19937 random(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    // Box and Muller (1958). u is above 0, as its logarithm is taken; v may be 0.
    const double u = (random() + 1.0) / 4294967297.0, v = random() / 4294967296.0;
    values.push_back(spread * std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v));
  }
  return values;
}

inline std::vector<float> narrowed(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

inline int64_t num_elements(const Shape& shape) {
  return shape.num_elements();
}
inline Tensor normal_f64(const Shape& shape, uint32_t seed, double spread = 1) {
  return f64(shape, normals(shape.num_elements(), seed, spread));
}
inline Tensor normal_f32(const Shape& shape, uint32_t seed, double spread = 1) {
  return f32(shape, narrowed(normals(shape.num_elements(), seed, spread)));
}

// The elements of a result in f64.
inline std::vector<double> run_f64(std::string_view id, std::vector<Tensor> inputs,
                                   Attributes attributes = {}) {
  return values_of<double>(run_one(id, std::move(inputs), std::move(attributes)));
}
inline std::vector<float> run_f32(std::string_view id, std::vector<Tensor> inputs,
                                  Attributes attributes = {}) {
  return values_of<float>(run_one(id, std::move(inputs), std::move(attributes)));
}
// The message of a run that must fail.
inline std::string run_error(std::string_view id, std::vector<Tensor> inputs,
                             Attributes attributes = {}) {
  const auto outputs = run_op(id, std::move(inputs), std::move(attributes));
  return outputs ? "no error" : outputs.error().message;
}

// |a - b| <= absolute + relative |b| for each element; NaN equals NaN, an infinity itself.
template <class T>
testing::AssertionResult all_near(const std::vector<T>& actual, const std::vector<double>& expected,
                                  double relative, double absolute = 0) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure()
           << actual.size() << " elements where " << expected.size() << " are expected";
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    const auto a = static_cast<double>(actual[i]);
    const double b = expected[i];
    const bool is_same = std::isfinite(a) && std::isfinite(b)
                             // The absolute part is for values near 0, where a relative error means
                             // nothing.
                             ? std::abs(a - b) <= absolute + relative * std::abs(b)
                             : a == b || (std::isnan(a) && std::isnan(b));
    if (is_same) continue;
    return testing::AssertionFailure() << "element " << i << " is " << a << ", expected " << b;
  }
  return testing::AssertionSuccess();
}

}  // namespace quern::test
