// Checks the claims of a backend on one pattern of inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/case_pattern.h"
#include "conformance/case_values.h"
#include "conformance/certificate.h"
#include "conformance/subject.h"

namespace quern {

// The reference and the devices under test. Not copied; one thread only.
struct TestBench {
  const Backend* reference = nullptr;
  std::unique_ptr<Device> reference_device;
  const Backend* backend = nullptr;
  std::vector<std::unique_ptr<Device>> devices;  // the first is the one under test
  std::vector<std::string> device_names;         // "2 threads", "1 thread", ...
  uint64_t seed = 1;

  // A reference or bit-exact device must agree to the bit; an approximate one within each bound.
  bool demands_bits() const {
    return devices.front()->capabilities().correctness != CorrectnessClass::kApprox;
  }
};

// Runs the pattern at all of its sizes and dtypes and adds what it finds to `report`.
// Errors: defects of the pattern; a failed claim is no error.
Result<void> check_pattern(TestBench& bench, const CasePattern& pattern, OpReport& report);

// Counts a check; a non-empty detail is a failure.
void record(OpReport& report, Claim claim, const std::string& where, const std::string& detail);

// Empty if two outcomes are the same: results bit for bit, or errors of one code.
std::string outcome_difference(const Result<Outcome>& actual, const Result<Outcome>& expected);
// The same for a backend that promises bits; else results within what its class promises.
std::string result_difference(const TestBench& bench, const OpDef& op,
                              const Result<Outcome>& actual, const Result<Outcome>& expected);

}  // namespace quern
