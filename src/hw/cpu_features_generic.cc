// Processors that no kernel level knows: only portable kernels run.
#include "hw/cpu_features.h"

namespace quern {

CpuFeatures detect_cpu_features() {
  return {};
}

}  // namespace quern
