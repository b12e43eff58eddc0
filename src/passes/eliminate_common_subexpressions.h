// Makes one node of pure nodes that compute the same.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// Two pure nodes are the same if operation (an alias is the operation it stands for), version,
// device, attributes and inputs are; the operands of a commutative operation in any order. The
// first stays. Random, stateful and external nodes never merge, nor does a node whose value is
// readable by name. So projections of one input share its quantisation.
// Example:
//   %qa, %sa = quant.dynamic(%h) ...      %qa, %sa = quant.dynamic(%h) ...
//   %q = linear(%qa, %wq, _, %sa)         %q = linear(%qa, %wq, _, %sa)
//   %qb, %sb = quant.dynamic(%h) ...  ->
//   %k = linear(%qb, %wk, _, %sb)         %k = linear(%qa, %wk, _, %sa)
// Legal because a pure node's results are a function of what the key holds.
Result<Graph> eliminate_common_subexpressions(const Graph& graph, const PassOptions& options);

}  // namespace quern
