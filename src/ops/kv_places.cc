// Checks of tokens against the room of their sequences.
#include "ops/kv_places.h"

#include "base/fail.h"

namespace quern {

// Checks each token's place before anything is written, so that a bad token leaves the cache as
// it was. The error names the token, its sequence and the room.
Result<KvPlaces> find_kv_places(const KvState* kv, std::string_view state_name,
                                const TensorView& positions, const TensorView& sequences) {
  if (kv == nullptr) {
    return fail::precondition("State '{}' is not bound to a key-value store.", state_name);
  }
  // Both views have one length by the type rule.
  const KvPlaces places{positions.as<const int32_t>(), sequences.as<const int32_t>(),
                        positions.shape[0]};
  for (int64_t t = 0; t < places.num_tokens; ++t) {
    // -1 is the store's word for an unknown sequence.
    const int64_t capacity = kv->capacity(places.sequences[t]);
    if (capacity < 0) {
      return fail::not_found("Token {} belongs to sequence {}, which state '{}' does not hold.", t,
                             places.sequences[t], state_name);
    }
    if (places.positions[t] >= 0 && places.positions[t] < capacity) continue;
    return fail::out_of_range(
        "Token {} has position {}; sequence {} of state '{}' has room for {} rows.", t,
        places.positions[t], places.sequences[t], state_name, capacity);
  }
  return places;
}

}  // namespace quern
