// Names weights by what they hold, without reading all of it.
#pragma once

#include "base/hash.h"
#include "quern/weight_source.h"

namespace quern {

// Adds names, types, shapes and 64 bytes of every `stride` bytes of each weight: any retraining
// shows, a single changed bit need not. Files that are mapped are read at these places only, at a
// stride of 4 KiB whole; the pages are given back.
void hash_weights(const WeightSource& weights, Hasher& hasher, size_t stride = 4096);

}  // namespace quern
