// Rules that all operations on key-value caches share.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/kv_state.h"
#include "quern/op.h"

namespace quern {

// What a state of kind "kv" declares.
struct KvDims {
  int64_t layers, heads, key_dim, value_dim;
  DType key_type;
  bool keeps_unrotated;
};

// The declaration that the attribute `state` names. Errors: no such state, a bad declaration, the
// attribute `layer` out of range.
Result<KvDims> find_kv(const InferContext& context);
// A float up to f32, [T, heads, dim].
Result<void> check_kv_rows(std::string_view port, const TensorType& type);
// Ports `first` and `first + 1`: positions and sequences, i32 with an entry for each token.
Result<void> check_kv_places(const InferContext& context, size_t first, const Dim& tokens);

// The bound state and the place of each token.
struct KvRows {
  KvState* kv;
  int64_t layer;
  const int32_t* positions;
  const int32_t* sequences;
};

// How the heads of rows relate to those of the store: rows of keys and values have as many, queries
// a multiple of them.
enum class KvHeadCount { kSame, kMultiple };

// Every token must name a known sequence and a position that it has room for. `first` is the port
// of the positions, `heads` and the dims those of the rows at hand. Errors: a store that was made
// for another state, an unknown sequence, a position out of room.
Result<KvRows> find_kv_rows(const KernelContext& context, size_t first, KvHeadCount relation,
                            int64_t heads, int64_t key_dim, int64_t value_dim);

}  // namespace quern
