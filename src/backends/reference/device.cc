// The host as the reference device.
#include <unistd.h>

#include "backends/reference/artifact.h"
#include "base/fail.h"
#include "runtime/host_kv_store.h"

namespace quern::reference {
namespace {

// Needs nothing but host memory.
class ReferenceDevice final : public Device {
 public:
  ReferenceDevice() {
    // Compiled without contraction, so plain scalar arithmetic on every machine.
    capabilities_.arch = "scalar";
    capabilities_.correctness = CorrectnessClass::kReference;
    capabilities_.has_f64 = true;
    // No thread of the process sets flush-to-zero.
    capabilities_.keeps_denormals = true;
  }

  const DeviceDescription& description() const override { return description_; }
  const Capabilities& capabilities() const override { return capabilities_; }

  DeviceCapacity capacity() const override {
    // Total and available physical memory, in bytes, at this moment.
    const int64_t page = ::sysconf(_SC_PAGESIZE);
    return {::sysconf(_SC_PHYS_PAGES) * page, ::sysconf(_SC_AVPHYS_PAGES) * page};
  }

  Result<Buffer> allocate(int64_t size_bytes) override { return Buffer::allocate_host(size_bytes); }

  Result<std::unique_ptr<Executable>> load(const Artifact& artifact, const WeightSource* weights,
                                           const Progress& progress) override {
    const auto* own = dynamic_cast<const GraphArtifact*>(&artifact);
    if (own == nullptr) {
      return fail::invalid("The artifact was not compiled by the backend reference.");
    }
    return make_executable(*own, weights, progress);
  }

  Result<std::unique_ptr<KvStore>> make_kv_store(const StateDecl& declaration) override {
    // The layout for vector kernels; reference kernels read rows through KvState and never see it.
    QUERN_ASSIGN_OR_RETURN(auto store, HostKvStore::make(declaration));
    return std::unique_ptr<KvStore>(std::move(store));
  }

 private:
  DeviceDescription description_{"reference", "reference kernels on one thread"};
  Capabilities capabilities_;
};

}  // namespace

std::unique_ptr<Device> make_device() {
  return std::make_unique<ReferenceDevice>();
}

}  // namespace quern::reference
