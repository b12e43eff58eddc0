// The rule that chooses how activations are quantised.
#pragma once

#include "quern/model_options.h"
#include "quern/weight_source.h"

namespace quern {

// Elements of all weights of the source; a tied tensor stands in the file once and counts once.
// Thread-safe, like all of this file.
int64_t count_parameters(const WeightSource& weights);

// kAuto becomes int16 below 1e9 parameters and int8 from there up, the same on all devices;
// a source without block-quantised weights gives kF32 whatever is asked.
// Borrows `weights` for the call and reads its list only, never the bytes.
Activations resolve_activations(Activations wanted, const WeightSource& weights);

}  // namespace quern
