// Every call says that it is not implemented. A new backend copies this folder, renames it, and
// fills in one call after the other; `quern devices` and the conformance suite show what is left.
#include "backends/null/backend.h"

#include "base/fail.h"
#include "quern/op.h"

namespace quern {
namespace {

class NullBackend final : public Backend {
 public:
  std::string_view name() const override { return "null"; }

  // What a device of `arch` can do as far as its documentation says; probes refine it later.
  Result<Capabilities> default_caps(std::string_view arch) const override {
    return fail::unimplemented("Backend null knows no architecture '{}'.", arch);
  }

  // Answer from an explicit table of operations, never from "anything else works too".
  Support supports(const OpDef& op) const override {
    return {Support::Kind::kMissing, fmt::format("Backend null implements no {}.", op.id)};
  }

  // Refuse here whatever compile() cannot serve: the caller is told before any work is done.
  Result<void> legal(const Graph&, const Node& node) const override {
    return fail::unimplemented("Backend null cannot run {} (node '{}').", node.op->id, node.name);
  }

  // Code for the whole graph. It must not need the hardware.
  Result<std::unique_ptr<Artifact>> compile(const Graph&, const CompileOptions&) const override {
    return fail::unimplemented("Backend null cannot compile.");
  }

  // A check of the code by somebody else's tool, where there is one.
  Result<void> validate(const Artifact&) const override {
    return fail::unimplemented("Backend null cannot validate.");
  }

  // Devices present on this machine; an empty list if there is none.
  Result<std::vector<DeviceDescription>> devices() const override {
    return std::vector<DeviceDescription>{};
  }

  // Opens a device. Memory, loading and running are calls of Device and Executable.
  Result<std::unique_ptr<Device>> open(const DeviceOptions&) const override {
    return fail::unimplemented("Backend null has no device.");
  }
};

}  // namespace

std::unique_ptr<Backend> make_null_backend() {
  return std::make_unique<NullBackend>();
}

}  // namespace quern
