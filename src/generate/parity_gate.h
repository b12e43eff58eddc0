// The parity gate: before a device serves a model, one token must come out as on the reference.
#pragma once

#include <cstdint>
#include <string>

#include "models/language_model.h"
#include "quern/device.h"

namespace quern {

// What the gate looks at. All outlive the call.
struct GateSubject {
  // Facts of the model.
  const LanguageModel* model = nullptr;
  const WeightSource* weights = nullptr;
  const Backend* reference = nullptr;  // the definition
  // For errors.
  std::string_view device_name;
  Device* device = nullptr;          // the candidate ...
  Executable* executable = nullptr;  // ... and the model loaded on it
  // As the candidate was compiled.
  Numerics numerics = Numerics::kStrict;
  // Any token; the begin token by custom.
  int32_t first_token = 0;
  // Where the reference's logits are kept, so that only the first load of a model computes them;
  // empty: nowhere. What is kept can let a device pass, never refuse it: then the reference runs.
  std::string cache_folder = {};
  // Of the program and the machine, as program_stamp() gives it: a pass is remembered in the cache
  // folder for this program only. Empty: none is remembered.
  std::string program_stamp = {};
  std::string pack_cache = {};  // where the device keeps packed weights; empty: nowhere
  PassSelection passes = {};    // as the candidate was compiled
};

// Feeds one token, then a second one that attends to it, through key-value stores of the gate's own
// on both sides, and compares the second token's logits; does nothing where the same program, model
// and device are remembered to have passed. Nothing of the executable's later results depends on
// it. Errors: kFailedPrecondition for a device that fails, with the reason; those of running the
// model.
Result<void> run_parity_gate(const GateSubject& subject);

}  // namespace quern
