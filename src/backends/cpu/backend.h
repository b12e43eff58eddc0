// The backend for the processor that runs this program.
#pragma once

#include <memory>

#include "quern/device.h"

namespace quern {

std::unique_ptr<Backend> make_cpu_backend();

}  // namespace quern
