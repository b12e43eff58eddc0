// Attention over rows that hold their heads side by side, [T, H * D].
#pragma once

#include "quern/op.h"

namespace quern {

// attention.multi_head_attention, which register_attention_ops() adds to its family.
OpDef multi_head_attention_op();

}  // namespace quern
