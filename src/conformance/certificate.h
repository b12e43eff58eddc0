// The outcome of a conformance run: counts, worst cases, failures, environment.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/error_units.h"
#include "quern/device.h"

namespace quern {

// What is claimed of a backend and checked.
enum class Claim {
  kResult,    // the reference's bits, or its values within the bound of the operation
  kRefusal,   // an error where the reference has one, with the same code
  kGuards,    // no byte outside a result is written
  kRepeat,    // the same bits in every run
  kThreads,   // the same bits at every thread count
  kBatch,     // a row's bits do not depend on the other rows
  kLayout,    // inputs through copies, transposes, broadcasts, weights, unaligned memory
  kAccuracy,  // f32 and narrower results within the operation's bound of exact ones
};
inline constexpr size_t kNumClaims = 8;
std::string_view claim_name(Claim claim);
std::string_view claim_meaning(Claim claim);

struct ClaimCount {
  int64_t checks = 0;
  int64_t failures = 0;
};
using ClaimCounts = std::array<ClaimCount, kNumClaims>;

struct Failure {
  Claim claim = Claim::kResult;
  std::string where;   // "f32, x [3, 5], values normal, 3 threads"
  std::string detail;  // a sentence
};

// The largest error of an operation in one dtype, and where.
struct AccuracyWorst {
  WorstError error;
  std::string where;
};

struct OpReport {
  std::string id;
  Support::Kind support = Support::Kind::kMissing;
  double bound = 0;           // OpDef::f32_bound
  int64_t cases = 0;          // inputs that ran or had to fail
  int64_t refused_types = 0;  // combinations that the type rule or the backend's types refuse
  ClaimCounts claims = {};
  std::map<std::string, AccuracyWorst> worst;  // by dtype
  std::vector<Failure> failures;               // the first few
  bool is_exact_class = true;                  // bit equality was demanded
};

struct Certificate {
  std::string backend;
  CorrectnessClass correctness = CorrectnessClass::kApprox;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<OpReport> ops;   // by id
  int64_t num_operations = 0;  // of the build, with aliases
  int64_t num_missing = 0;     // of those, not served
  double seconds = 0;
  bool is_complete = true;  // every operation was asked for
  std::string filter;       // the text that the ids of the operations asked for contain

  ClaimCounts totals() const;
  int64_t num_cases() const;
  // At least one case ran and no claim failed.
  bool has_passed() const;
};

std::string certificate_text(const Certificate& certificate);
std::string certificate_json(const Certificate& certificate);
// A page that needs nothing else.
std::string certificate_html(const Certificate& certificate);

}  // namespace quern
