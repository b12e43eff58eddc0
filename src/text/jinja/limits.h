// What one rendering may take.
#pragma once

#include <cstddef>

namespace quern::jinja {

// What one template may use, since templates come from model files. Passing a limit is an error,
// never a crash or a hang.
struct Limits {
  // One step is about what evaluating one name takes, or scanning kBytesPerStep bytes.
  size_t max_steps = 4'000'000;
  // All that a rendering ever makes, freed or not.
  size_t max_bytes = size_t{256} << 20;
  size_t max_output_bytes = size_t{64} << 20;
  // Nested statements, expressions and macro calls that are in progress.
  int max_depth = 400;
};

// Bytes of text that count as one step: work on long texts costs as much as many small steps.
inline constexpr size_t kBytesPerStep = 64;
inline constexpr size_t kBytesPerClassStep = 8;
// Values that nest deeper cannot be printed, compared or converted.
inline constexpr int kMaxValueDepth = 100;

}  // namespace quern::jinja
