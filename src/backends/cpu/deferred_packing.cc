// Packing where a run comes to a weight.
#include "backends/cpu/deferred_packing.h"

#include <algorithm>

namespace quern::cpu {

bool DeferredPacking::takes(const Tensor& weight, ActivationKind kind) const {
  const bool is_integer = kind == ActivationKind::kInt8 || kind == ActivationKind::kInt16;
  if (kind == ActivationKind::kF64 || is_quantized(weight.dtype()) != is_integer) return false;
  const auto bytes = weight.host_view();
  return bytes && !bytes->empty() && mappings_.holds(*bytes);
}

Result<std::shared_ptr<const PackedWeight>> DeferredPacking::add(const Tensor& weight,
                                                                 ActivationKind kind) {
  QUERN_ASSIGN_OR_RETURN(PackedWeight wrapped, wrap_weight(weight, kind, machine_.kernels));
  waiting_.push_back(std::make_shared<PackedWeight>(std::move(wrapped)));
  return waiting_.back();
}

Result<void> DeferredPacking::pack(const PackedWeight& weight) {
  if (weight.is_packed()) return {};
  const auto it = std::ranges::find(waiting_, &weight, &std::shared_ptr<PackedWeight>::get);
  if (it == waiting_.end()) return {};
  QUERN_TRY(
      pack_wrapped_weight(**it, machine_.kernels, machine_.pool, &memory_,
                          [&](std::span<const std::byte> bytes) { mappings_.release(bytes); }));
  waiting_.erase(it);
  has_news_ = true;
  return {};
}

}  // namespace quern::cpu
