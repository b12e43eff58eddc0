// The backends of this build. A new backend adds an include and a line.
#include "backends/cpu/backend.h"
#include "backends/null/backend.h"
#include "backends/reference/backend.h"
#include "quern/device.h"

namespace quern {

BackendRegistry register_backends() {
  BackendRegistry registry;
  registry.add(make_reference_backend());
  registry.add(make_cpu_backend());
  registry.add(make_null_backend());
  return registry;
}

}  // namespace quern
