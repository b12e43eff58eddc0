// Packing where a run comes to a weight.
#include "backends/cpu/deferred_packing.h"

namespace quern::cpu {

bool DeferredPacking::takes(const Tensor& weight, ActivationKind kind) const {
  const bool is_integer = kind == ActivationKind::kInt8 || kind == ActivationKind::kInt16;
  if (kind == ActivationKind::kF64 || is_quantized(weight.dtype()) != is_integer) return false;
  const auto bytes = weight.host_view();
  return bytes && !bytes->empty() && mappings_.holds(*bytes);
}

Result<void> DeferredPacking::pack(PackedWeight& weight) {
  if (weight.is_packed()) return {};
  QUERN_ASSIGN_OR_RETURN(
      weight,
      pack_weight(weight.source(), weight.activations(), machine_.kernels, machine_.pool, &memory_,
                  [&](std::span<const std::byte> bytes) { mappings_.release(bytes); }));
  has_news_ = true;
  return {};
}

}  // namespace quern::cpu
