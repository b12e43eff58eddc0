// The definition as a backend: reference kernels, one thread.
#pragma once

#include <memory>

#include "quern/device.h"

namespace quern {

// Serves every operation that has a reference kernel, whatever its dtypes; needs nothing of the
// machine. Thread-safe.
std::unique_ptr<Backend> make_reference_backend();

}  // namespace quern
