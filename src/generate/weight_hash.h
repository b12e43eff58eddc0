// Names weights by what they hold, without reading all of it.
#pragma once

#include "base/hash.h"
#include "quern/weight_source.h"

namespace quern {

// Adds names, types, shapes and 64 bytes of every 4 KiB of each weight: any retraining shows, a
// single changed bit need not.
void hash_weights(const WeightSource& weights, Hasher& hasher);

}  // namespace quern
