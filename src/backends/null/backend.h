// A backend that implements nothing: it documents the contract and is what a new one copies.
#pragma once

#include <memory>

#include "quern/device.h"

namespace quern {

// Thread-safe.
std::unique_ptr<Backend> make_null_backend();

}  // namespace quern
