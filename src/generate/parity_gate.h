// The parity gate: before a device serves a model, one token must come out as on the reference.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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
  Device* device = nullptr;  // the candidate
  // As the candidate is compiled.
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
  std::function<void(int64_t)> before_reference = {};  // see EngineOptions; empty: nobody is told
};

// One proof: what is wanted is found before the device takes the weights, so that the file, which
// the reference reads as a whole, is not in memory beside what the device makes of it. One thread
// only.
class ParityGate {
 public:
  // Looks for a remembered pass of the same program, model and device, then for the reference's
  // logits; where neither is kept, the reference runs the model, and the pages of its file are
  // given back. Errors: those of running it.
  static Result<ParityGate> prepare(const GateSubject& subject);

  // Feeds one token, then a second one that attends to it, to the model loaded on the device,
  // through a key-value store of the gate's own, and compares the second token's logits; does
  // nothing where a pass is remembered. Nothing of the executable's later results depends on it.
  // Errors: kFailedPrecondition for a device that fails, with the reason; those of running the
  // model.
  Result<void> check(Executable& executable) const;

 private:
  explicit ParityGate(const GateSubject& subject) : subject_(subject) {}

  GateSubject subject_;
  bool has_passed_ = false;
  std::vector<float> expected_;
  bool is_kept_ = false;  // whether `expected_` comes from a file
};

}  // namespace quern
