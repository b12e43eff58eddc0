// How long work on files tells how far it is.
#pragma once

#include <cstdint>
#include <functional>

namespace quern {

using ByteProgress = std::function<void(int64_t done_bytes, int64_t total_bytes)>;

}  // namespace quern
