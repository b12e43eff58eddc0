// A bump allocator over blocks of huge pages.
#include "backends/cpu/kernels/weight_memory.h"

#include <algorithm>

#include "base/checked_math.h"

namespace quern::cpu {
namespace {

constexpr int64_t kBlockBytes = int64_t{128} << 20;
constexpr int64_t kAlignment = 64;

}  // namespace

Result<Buffer> WeightMemory::allocate(int64_t size_bytes) {
  if (size_bytes >= kBlockBytes || size_bytes < 0) return Buffer::allocate_host(size_bytes);
  if (block_.is_empty() || block_.size_bytes() - used_ < size_bytes) {
    QUERN_ASSIGN_OR_RETURN(block_, Buffer::allocate_host(kBlockBytes));
    used_ = 0;
  }
  QUERN_ASSIGN_OR_RETURN(Buffer piece, block_.slice(used_, size_bytes));
  used_ = std::min(round_up(used_ + size_bytes, kAlignment), kBlockBytes);
  return piece;
}

}  // namespace quern::cpu
