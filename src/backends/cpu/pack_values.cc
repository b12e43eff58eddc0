// Keys of the cache, and the choice between it and packing.
#include "backends/cpu/pack_values.h"

#include "backends/cpu/shared_tables.h"
#include "base/hash.h"

namespace quern::cpu {
namespace {

// Raised whenever the bytes that pack_weight() writes change for some weight.
constexpr uint64_t kPackedLayoutVersion = 1;

uint64_t id_of(const Graph& graph, ValueId value, int64_t part, ActivationKind kind) {
  return Hasher()
      .text(graph.value(value).name)
      .number(static_cast<uint64_t>(part))
      .number(static_cast<uint64_t>(kind))
      .digest();
}

Result<void> hash_bytes(const Tensor& weight, Hasher& hasher) {
  hasher.text(dtype_name(weight.dtype())).text(weight.shape().to_string());
  QUERN_ASSIGN_OR_RETURN(const auto bytes, weight.host_view());
  hasher.bytes(bytes.data(), bytes.size());
  return {};
}

void hash_layout(const LinearKernels& kernels, Hasher& hasher) {
  hasher.number(kPackedLayoutVersion);
  for (const int number : {kernels.num_lanes, kernels.float_panel_rows, kernels.double_panel_rows,
                           kernels.full_offset[0], kernels.full_offset[1]}) {
    hasher.number(static_cast<uint64_t>(number));
  }
}

}  // namespace

Result<PackCache> open_pack_cache(const Graph& graph, const Plan& plan, const LoadedValues& loaded,
                                  const Machine& machine) {
  if (machine.pack_cache.empty()) return PackCache();
  Hasher hasher;
  hash_layout(machine.kernels.linear, hasher);
  if (const std::string stamp = loaded.stamp(); !stamp.empty()) {
    return PackCache(machine.pack_cache, hasher.text(stamp).digest());
  }
  for (const PlannedStep& step : plan.steps) {
    for (const int port : {step.entry->packed_weight, step.entry->second_packed_weight}) {
      if (port < 0) continue;
      const ValueId value = graph.node(step.node).inputs[static_cast<size_t>(port)];
      if (!is_loaded(graph, value)) continue;
      hasher.text(graph.value(value).name);
      QUERN_ASSIGN_OR_RETURN(const Tensor weight, loaded.fetch(value));
      QUERN_TRY(hash_bytes(weight, hasher));
    }
  }
  return PackCache(machine.pack_cache, hasher.digest());
}

Result<PackedWeight> pack_value(const StepRequest& request, ValueId value, int64_t part,
                                const Tensor& weight, ActivationKind kind) {
  const KernelTable& kernels = request.machine.kernels;
  PackCache& cache = request.tables.pack_cache();
  const uint64_t id = id_of(request.graph, value, part, kind);
  if (cache.is_on()) {
    QUERN_ASSIGN_OR_RETURN(const int64_t size, packed_weight_bytes(weight, kind, kernels));
    Buffer kept = cache.find(id, size);
    if (!kept.is_empty()) return adopt_packed_weight(weight, kind, kernels, std::move(kept));
  }
  const auto release = [&](std::span<const std::byte> bytes) { request.loaded.release(bytes); };
  QUERN_ASSIGN_OR_RETURN(PackedWeight packed,
                         pack_weight(weight, kind, kernels, request.machine.pool,
                                     &request.tables.weight_memory(), release));
  if (cache.is_on()) cache.add(id, packed.buffer());
  return packed;
}

}  // namespace quern::cpu
