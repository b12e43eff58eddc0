// Memory for packed weights: large blocks cut into pieces, so that small weights lie in huge pages
// too.
#pragma once

#include <cstdint>

#include "quern/buffer.h"

namespace quern::cpu {

// Pieces share blocks and keep them alive. Memory is taken from the system when it is first
// written, so the unused end of a block costs nothing. One thread only.
class WeightMemory {
 public:
  // Zeroed, aligned to 64 bytes. Errors: kResourceExhausted.
  Result<Buffer> allocate(int64_t size_bytes);

 private:
  Buffer block_;
  int64_t used_ = 0;
};

}  // namespace quern::cpu
