// Sampled bytes of every weight.
// Reading all of a large model would take longer than loading it.
#include "generate/weight_hash.h"

#include <algorithm>

#include "hw/file_mappings.h"

namespace quern {

// Weights in the order of the source.
void hash_weights(const WeightSource& weights, Hasher& hasher, size_t stride) {
  // Once for all weights: it reads the process's list of mappings.
  const FileMappings mappings = FileMappings::read();
  for (const WeightInfo& info : weights.list()) {
    hasher.text(info.name).text(dtype_name(info.dtype)).text(info.shape.to_string());
    const auto tensor = weights.weight(info.name);
    const auto bytes = tensor ? tensor->host_view() : tl::unexpected(Error{});
    // A weight that cannot be read is an error of loading, which comes anyway.
    if (!bytes) continue;
    for (size_t at = 0; at < bytes->size(); at += stride) {
      // A cache line of each stride; the last may be short.
      hasher.bytes(bytes->data() + at, std::min<size_t>(64, bytes->size() - at));
    }
    // Or hashing would leave a large part of the model in memory before it is loaded.
    mappings.release(*bytes);
  }
}

}  // namespace quern
