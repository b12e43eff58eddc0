// The conformance suite: every operation of a backend against the reference.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "conformance/certificate.h"
#include "quern/device.h"

namespace quern {

struct ConformOptions {
  std::string filter;   // operations whose id contains this; empty: all
  std::string isa;      // DeviceOptions::isa
  int num_threads = 2;  // of the device under test; 1 and 3 are compared with it
  uint64_t seed = 1;
  // Told (done, total) steps of the table and the operation at work.
  std::function<void(int64_t done, int64_t total, std::string_view id)> progress;
};

// Runs the suite. A failed claim is part of the certificate, not an error.
// Errors: the device cannot be opened; a defect of the case table.
Result<Certificate> run_conformance(const Backend& backend, const ConformOptions& options);

}  // namespace quern
