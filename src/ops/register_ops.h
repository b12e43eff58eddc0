// The list of operation families. builtin_ops() (quern/op.h) holds what they add.
#pragma once

#include "quern/op.h"

namespace quern {

void register_graph_ops(OpRegistry& registry);

}  // namespace quern
