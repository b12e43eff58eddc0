// Integer tensors (ids, rows, labels) as i64.
#pragma once

#include <cstdint>
#include <vector>

#include "quern/op.h"

namespace quern {

// The elements of a tensor of integers of 8 to 64 bits (not u64); empty if it is absent.
// A copy, in order; the view is not kept. Another dtype is a defect of the caller's type rule.
std::vector<int64_t> load_indices(const TensorView& view);

}  // namespace quern
