// Whether a device's logits agree with the reference: the measure of the parity gate.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "quern/device.h"

namespace quern {

// Two rows of logits side by side.
struct LogitParity {
  // The strictest measure first.
  bool has_equal_bits = false;
  bool is_finite = false;  // of the device's logits; -infinity counts as finite where both have it
  double cosine = 0;       // in f64; 1 where both rows are zero
  int64_t argmax = 0;      // of the device: the lowest index of the largest logit
  // Of the reference, by the same rule.
  int64_t expected_argmax = 0;
  double max_difference = 0;
};

// Cosine below which an Approx device is refused.
inline constexpr double kMinLogitCosine = 0.999;

// Rows of equal, positive length.
// For one token, as the gate runs it: rows of one vocabulary each.
LogitParity compare_logits(std::span<const float> logits, std::span<const float> expected);

// The rule: under strict a device that claims the reference's bits must have them; every other must
// be finite, agree on the best token and have a cosine of kMinLogitCosine or more.
// Errors: kFailedPrecondition, with the device's name and what was measured.
Result<void> check_parity(const LogitParity& parity, CorrectnessClass correctness,
                          Numerics numerics, std::string_view device);

}  // namespace quern
