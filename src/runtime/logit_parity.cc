// Comparison of two rows of logits.
// Bits where they are promised; else the angle and the best token, which is what a user sees.
#include "runtime/logit_parity.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/fail.h"

namespace quern {
namespace {

// A NaN never wins, so that a broken row still has an argmax to print.
int64_t argmax(std::span<const float> row) {
  size_t best = 0;
  for (size_t i = 1; i < row.size(); ++i) {
    // Strictly greater keeps the lowest index among equals. A NaN in front gives way to what
    // follows.
    if (row[i] > row[best] || std::isnan(row[best])) best = i;
  }
  return static_cast<int64_t>(best);
}

}  // namespace

// In f64 throughout.
LogitParity compare_logits(std::span<const float> logits, std::span<const float> expected) {
  LogitParity parity{.has_equal_bits = true, .is_finite = true};
  double dot = 0, norm = 0, expected_norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double a = logits[i], b = expected[i];
    const bool is_equal =
        // Bits and not values: +0 and -0 differ under strict. Signs and payloads of NaN are no part
        // of the promise.
        std::bit_cast<uint32_t>(logits[i]) == std::bit_cast<uint32_t>(expected[i]) ||
        (std::isnan(logits[i]) && std::isnan(expected[i]));
    parity.has_equal_bits = parity.has_equal_bits && is_equal;
    // A model may forbid tokens with -infinity; they say nothing about the angle.
    if (std::isinf(a) && is_equal) continue;
    parity.is_finite = parity.is_finite && std::isfinite(a);
    parity.max_difference = std::max(parity.max_difference, std::abs(a - b));
    dot += a * b;
    norm += a * a;
    expected_norm += b * b;
  }
  // Two roots and not one of the product, which could overflow.
  const double scale = std::sqrt(norm) * std::sqrt(expected_norm);
  // Both rows zero: the same direction, by agreement. NaN makes both comparisons false: 0.
  parity.cosine = scale > 0 ? dot / scale : (norm == expected_norm ? 1 : 0);
  parity.argmax = argmax(logits);
  parity.expected_argmax = argmax(expected);
  return parity;
}

// The sentence tells what was measured and what was needed.
Result<void> check_parity(const LogitParity& parity, CorrectnessClass correctness,
                          Numerics numerics, std::string_view device) {
  const bool claims_bits =
      numerics == Numerics::kStrict && correctness != CorrectnessClass::kApprox;
  // All three: a NaN has no angle, and a cosine near 1 over 100,000 logits can still move the best
  // token.
  const bool is_close = parity.is_finite && parity.argmax == parity.expected_argmax &&
                        parity.cosine >= kMinLogitCosine;
  if (claims_bits ? parity.has_equal_bits : is_close) return {};
  const std::string wanted =
      claims_bits
          ? "under strict it must have the reference's bits"
          : fmt::format("it must be finite, agree on the best token and have a cosine of {}",
                        kMinLogitCosine);
  return fail::precondition(
      "Device {} fails the parity gate: for one token its logits differ from the reference's by up "
      "to {:.4g}, with cosine {:.9f}, best token {} against {}{}; {}. 'quern verify' names the "
      "operation at fault.",
      device, parity.max_difference, parity.cosine, parity.argmax, parity.expected_argmax,
      parity.is_finite ? "" : ", and are not finite", wanted);
}

}  // namespace quern
