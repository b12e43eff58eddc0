// NumPy's broadcasting for operations that themselves need equal shapes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {

// Whether the operation works element by element on inputs of equal shapes, so that inputs of other
// shapes may be broadcast to a common one first.
bool takes_equal_shapes(const OpDef& op);

// The inputs with a node `shape.broadcast` before each one that is smaller than the common shape:
// trailing axes are aligned, an extent of 1 repeats. The nodes are called
// "<name>.broadcast.<port>". Inputs that fit, other operations, and a vector that math.add adds
// along the last axis itself are returned as they are. Errors: kInvalidArgument for shapes without
// a common one, and for a common shape with symbols that no input has as a whole.
Result<std::vector<ValueId>> broadcast_inputs(GraphBuilder& builder, const OpDef& op,
                                              std::span<const ValueId> inputs,
                                              std::string_view name);

}  // namespace quern
