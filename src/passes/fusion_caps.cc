// What a backend runs as one node, as the fusion passes ask for it.
#include <algorithm>

#include "quern/device.h"

namespace quern {

bool FusionCaps::has(std::string_view fused_op) const {
  return std::ranges::find(fused_ops, fused_op) != fused_ops.end();
}

}  // namespace quern
