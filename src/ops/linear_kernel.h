// The reference kernel of projection.linear, for operations that are made of it.
#pragma once

#include "quern/op.h"

namespace quern {

// Ports and attributes as projection.linear; types as its rule gives them.
// Also called with views of single rows or experts: rows are independent, so the bits do not
// change.
Result<void> run_linear(const KernelContext& context);
// The type rule without a registry: x, weight, bias, scale, in this order (null where absent).
Result<std::vector<TensorType>> infer_linear(const InferContext& context);

}  // namespace quern
