// Text of dims and tensor types.
#pragma once

#include <string>
#include <string_view>

#include "quern/graph.h"

namespace quern {

// "T", "3*T" or "64".
// A dim is factor, or factor * symbol with one letter A to Z; the factor is 0 or more.
std::string dim_to_string(const Dim& dim);
Result<Dim> parse_dim(std::string_view text);
// "f32[T, 576]", or "f32[]" for rank 0; an optional "@private" suffix names the layout.
// Errors (invalid argument) show the wrong part: unknown dtype or layout, a part that is no dim,
// more than kMaxRank dims. Whether blocks fit the last extent is not asked: it may be a symbol.
Result<TensorType> parse_tensor_type(std::string_view text);

}  // namespace quern
