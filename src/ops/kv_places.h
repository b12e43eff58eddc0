// Where the tokens of a run stand in a key-value state.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/kv_state.h"
#include "quern/op.h"

namespace quern {

// Row `positions[t]` of sequence `sequences[t]` belongs to token t. Borrows the views of the run.
struct KvPlaces {
  const int32_t* positions = nullptr;
  const int32_t* sequences = nullptr;
  int64_t num_tokens = 0;
};

// Checks that each token names a known sequence and a position that it has room for; both views
// are i32[T]. Errors name the token, the state, and what is missing.
// A null `kv` is a failed precondition: nothing is bound to the state.
Result<KvPlaces> find_kv_places(const KvState* kv, std::string_view state_name,
                                const TensorView& positions, const TensorView& sequences);

}  // namespace quern
