// Threads, instruction set, memory.
#include "backends/cpu/device.h"

#include <fmt/format.h>

#include "backends/cpu/executable.h"
#include "backends/cpu/machine_roof.h"
#include "base/fail.h"
#include "hw/host_memory.h"
#include "runtime/host_kv_store.h"

namespace quern::cpu {
namespace {

// The best kernels of this machine, or those of the level that was asked for. Never a lower one in
// silence.
Result<const KernelTable*> choose_kernels(const std::string& name) {
  if (name.empty()) return &best_kernel_table(detect_cpu_features());
  const auto isa = find_isa(name);
  if (!isa || !has_kernel_level(*isa)) {
    return fail::invalid("There is no instruction set '{}'; this machine can use {}.", name,
                         fmt::join(available_isas(), ", "));
  }
  const KernelTable* table = find_kernel_table(*isa);
  if (table == nullptr) {
    return fail::unavailable("The processor has no {}; this machine can use {}.", name,
                             fmt::join(available_isas(), ", "));
  }
  return table;
}

Capabilities capabilities_of(const KernelTable& kernels, int num_threads) {
  Capabilities capabilities;
  capabilities.arch = isa_name(kernels.isa);
  capabilities.correctness = CorrectnessClass::kBitExact;
  capabilities.has_f64 = true;
  capabilities.keeps_denormals = true;
  capabilities.num_threads = num_threads;
  capabilities.max_vector_bits = vector_bits(kernels.isa);
  return capabilities;
}

DeviceDescription describe(const Capabilities& capabilities) {
  const int num_threads = capabilities.num_threads;
  return {"cpu", fmt::format("this machine's processor: {}, {} thread{}", capabilities.arch,
                             num_threads, num_threads == 1 ? "" : "s")};
}

class CpuDevice final : public Device {
 public:
  CpuDevice(int num_threads, const KernelTable& kernels)
      : machine_(std::make_shared<Machine>(num_threads, kernels)),
        capabilities_(capabilities_of(kernels, num_threads)),
        description_(describe(capabilities_)) {}

  int num_missing_threads() const { return machine_->pool.num_missing(); }
  const DeviceDescription& description() const override { return description_; }
  const Capabilities& capabilities() const override { return capabilities_; }
  DeviceCapacity capacity() const override {
    const HostMemory memory = query_host_memory();
    return {memory.total_bytes, memory.available_bytes};
  }
  Result<Buffer> allocate(int64_t size_bytes) override { return Buffer::allocate_host(size_bytes); }
  std::optional<DeviceRoof> measure_roof() override {
    MachineRoof roof(machine_->kernels, machine_->pool);
    return DeviceRoof{.bytes_per_second = roof.bytes_per_second(),
                      .flops_per_second = 2 * roof.multiply_adds_per_second(),
                      .int_ops_per_second = 2 * roof.products_per_second(),
                      .step_seconds = roof.seconds_per_dispatch()};
  }
  Result<std::unique_ptr<Executable>> load(const Artifact& artifact, const WeightSource* weights,
                                           const Progress& progress) override {
    const auto* plan = dynamic_cast<const PlanArtifact*>(&artifact);
    if (plan == nullptr) {
      return fail::invalid("The artifact was not compiled by the backend cpu.");
    }
    return make_executable(*plan, machine_, weights, progress);
  }
  Result<void> keep_packed_weights(const std::string& folder) override {
    machine_->pack_cache = folder;
    return {};
  }
  Result<std::unique_ptr<KvStore>> make_kv_store(const StateDecl& declaration) override {
    QUERN_ASSIGN_OR_RETURN(auto store, HostKvStore::make(declaration));
    return std::unique_ptr<KvStore>(std::move(store));
  }

 private:
  std::shared_ptr<Machine> machine_;
  Capabilities capabilities_;
  DeviceDescription description_;
};

}  // namespace

std::vector<std::string_view> available_isas() {
  std::vector<std::string_view> names;
  for (const KernelTable& table : kernel_tables()) names.push_back(isa_name(table.isa));
  return names;
}

Capabilities probe_capabilities() {
  return capabilities_of(best_kernel_table(detect_cpu_features()), available_cpus());
}

DeviceDescription probe_description() {
  return describe(probe_capabilities());
}

Result<std::unique_ptr<Device>> make_device(const DeviceOptions& options) {
  if (options.num_threads < 0 || options.num_threads > kMaxThreads) {
    return fail::invalid("{} threads are asked for; the limit is {}.", options.num_threads,
                         kMaxThreads);
  }
  QUERN_ASSIGN_OR_RETURN(const KernelTable* kernels, choose_kernels(options.isa));
  const int num_threads = options.num_threads == 0 ? available_cpus() : options.num_threads;
  auto device = std::make_unique<CpuDevice>(num_threads, *kernels);
  if (const int missing = device->num_missing_threads(); missing > 0) {
    return fail::exhausted("The system gives {} of {} threads: memory or a limit is used up.",
                           num_threads - missing, num_threads);
  }
  return device;
}

}  // namespace quern::cpu
