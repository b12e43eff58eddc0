// The processor of this machine as a device.
#pragma once

#include <memory>

#include "quern/device.h"

namespace quern::cpu {

// Errors: a thread count outside 0 to 1024; an instruction set that is unknown, not in this build,
// or that the machine lacks.
Result<std::unique_ptr<Device>> make_device(const DeviceOptions& options);

// What this machine would offer with default options.
Capabilities probe_capabilities();
// That device as a list shows it; no thread is started.
DeviceDescription probe_description();
// Names of the instruction sets of this build that the machine has, lowest first.
std::vector<std::string_view> available_isas();

}  // namespace quern::cpu
