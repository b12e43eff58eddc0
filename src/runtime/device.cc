// Names of the contract's enumerations, the registry, and submit-then-wait.
// What all backends share; the backends themselves are in folders of their own.
#include "quern/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/fail.h"
#include "quern/op.h"

namespace quern {

// The words of --numerics.
std::string_view numerics_name(Numerics numerics) {
  switch (numerics) {
    case Numerics::kStrict:
      return "strict";
    case Numerics::kDeterministic:
      return "deterministic";
    case Numerics::kFast:
      return "fast";
  }
  return "unknown";
}

// Nothing for other words.
std::optional<Numerics> find_numerics(std::string_view name) {
  // The words are the enumeration's own: one table for both directions.
  for (const Numerics n : {Numerics::kStrict, Numerics::kDeterministic, Numerics::kFast}) {
    if (numerics_name(n) == name) return n;
  }
  return std::nullopt;
}

// The words of `quern ops`.
std::string_view support_name(Support::Kind kind) {
  switch (kind) {
    case Support::Kind::kDirect:
      return "direct";
    case Support::Kind::kComposite:
      return "composite";
    case Support::Kind::kRegistry:
      return "registry";
    case Support::Kind::kGraphOnly:
      return "graph-only";
    case Support::Kind::kMissing:
      return "missing";
  }
  return "unknown";
}

// From what the backend says it supports; backends with several kernels override it.
Result<void> Device::keep_packed_weights(const std::string& folder) {
  if (folder.empty()) return {};
  return fail::unimplemented("A device of architecture '{}' keeps no packed weights.",
                             capabilities().arch);
}

// Linear: graphs have few outputs.
// Null for a name that the run did not give; owned by the result.
const Tensor* RunResult::find(std::string_view name) const {
  for (const auto& [known, tensor] : values) {
    if (known == name) return &tensor;
  }
  return nullptr;
}

// There is one way to run: every backend implements submit(), and this is what waits for it.
// The submission ends with this call; its error is the run's.
Result<RunResult> Executable::run(const RunArguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const auto submission, submit(arguments));
  return submission->wait();
}

// In the order that list() gives.
void BackendRegistry::add(std::unique_ptr<Backend> backend) {
  backends_.push_back(std::move(backend));
}

// By exact name: a typing error must not run on another device.
Result<const Backend*> BackendRegistry::find(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& backend : backends_) {
    if (backend->name() == name) return backend.get();
    names.push_back(backend->name());
  }
  return fail::not_found("There is no backend '{}'; this build has {}.", name,
                         fmt::join(names, ", "));
}

// Valid as long as the registry.
std::vector<const Backend*> BackendRegistry::list() const {
  std::vector<const Backend*> backends;
  for (const auto& backend : backends_) backends.push_back(backend.get());
  return backends;
}

}  // namespace quern
