// Compares a model on two devices, node by node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generate/model_files.h"
#include "runtime/graph_comparison.h"

namespace quern {

struct VerifyOptions {
  std::string device = "cpu";
  DeviceOptions device_options;
  std::string pack_cache;  // folder of packed weights of the device; empty: it packs anew
  std::string against = "reference";
  DeviceOptions against_options;
  Numerics numerics = Numerics::kStrict;
  // Absent: 0 (the same bits) where both devices promise them, else kApproxTolerance.
  std::optional<double> tolerance;
  Progress progress;
};

// Of a node's largest value: what an Approx device, or numerics other than strict, may be off by.
inline constexpr double kApproxTolerance = 1e-3;

// What the comparison found, and how it was made.
struct VerifyReport {
  GraphComparison comparison;
  double tolerance = 0;                // that was applied
  std::vector<std::string> run_names;  // "prefill of 5 tokens", "decode of 1 token"
};

// Feeds the tokens in one run and the first of them again in a second, and compares the value of
// every node in both. Needs a token. Errors: kOutOfRange for a token outside the
// vocabulary; those of loading and running.
Result<VerifyReport> verify_model(const ModelFiles& files, std::span<const int32_t> tokens,
                                  const BackendRegistry& backends, const VerifyOptions& options);

}  // namespace quern
