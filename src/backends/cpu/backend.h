// The backend for the processor that runs this program.
#pragma once

#include <memory>

#include "quern/device.h"

namespace quern {

// Chooses among the instruction sets of the build when a device is opened, not before: the same
// program runs on every processor of the architecture. Thread-safe.
std::unique_ptr<Backend> make_cpu_backend();

}  // namespace quern
