// Packing of loaded weights for steps: from the source, or from the cache of an earlier load.
#pragma once

#include "backends/cpu/kernels/packed_weight.h"
#include "backends/cpu/loaded_values.h"
#include "backends/cpu/pack_cache.h"
#include "backends/cpu/step.h"

namespace quern::cpu {

// Part `part` of the weight `value` (0, or the number of an expert), whose tensor is `weight`.
// Errors: those of pack_weight().
Result<PackedWeight> pack_value(const StepRequest& request, ValueId value, int64_t part,
                                const Tensor& weight, ActivationKind kind);

// The cache for the weights that `plan` packs, in the machine's folder; none where it has no
// folder. Its key is the layout of the kernels and the stamp of the source, or, where the source
// has none, all bytes of the weights: what was packed of other weights is never found.
// Errors: of reading weights.
Result<PackCache> open_pack_cache(const Graph& graph, const Plan& plan, const LoadedValues& loaded,
                                  const Machine& machine);

}  // namespace quern::cpu
