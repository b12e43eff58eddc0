// Stores that do not keep unrotated keys are never asked for them.
#include "ops/kv_state.h"

#include "base/check.h"

namespace quern {

// Reached only by a mistake in the runtime: the graph's declaration decides which store is made.
void KvState::write_unrotated(int64_t, int64_t, int64_t, int64_t, std::span<const float>) {
  QUERN_CHECK(false);
}
void KvState::read_unrotated(int64_t, int64_t, int64_t, int64_t, std::span<float>) const {
  QUERN_CHECK(false);
}
// A false check ends the process: a store that promises keeps_unrotated implements all three.
void KvState::write_key(int64_t, int64_t, int64_t, int64_t, std::span<const float>) {
  QUERN_CHECK(false);
}

}  // namespace quern
