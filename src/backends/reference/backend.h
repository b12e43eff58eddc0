// The definition as a backend: reference kernels, one thread.
#pragma once

#include <memory>

#include "quern/device.h"

namespace quern {

std::unique_ptr<Backend> make_reference_backend();

}  // namespace quern
