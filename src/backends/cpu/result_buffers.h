// Memory of results, taken again for the next run once the caller has let go of it.
#pragma once

#include <memory>
#include <vector>

#include "quern/buffer.h"

namespace quern::cpu {

// One thread only; the buffers it gives may be dropped on any thread.
class ResultBuffers {
 public:
  explicit ResultBuffers(size_t count) : kept_(count) {}

  // `size_bytes` bytes for result `index`, with any content. Errors: kResourceExhausted.
  Result<Buffer> take(size_t index, int64_t size_bytes);

 private:
  std::vector<std::shared_ptr<BufferStorage>> kept_;
};

}  // namespace quern::cpu
