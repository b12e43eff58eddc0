// Storages that count their users.
#include "backends/cpu/result_buffers.h"

#include <algorithm>
#include <utility>

namespace quern::cpu {
namespace {

// Host memory behind a storage whose shared_ptr tells whether somebody else still holds it.
class ResultStorage final : public BufferStorage {
 public:
  explicit ResultStorage(Buffer memory) : memory_(std::move(memory)) {}

  int64_t size_bytes() const override { return memory_.size_bytes(); }
  std::string_view place() const override { return memory_.place(); }
  Result<std::span<const std::byte>> host_view() const override { return memory_.host_view(); }
  Result<std::span<std::byte>> mutable_host_view() override { return memory_.mutable_host_view(); }
  Result<void> read(int64_t offset, std::span<std::byte> destination) const override {
    return memory_.read(offset, destination);
  }
  Result<void> write(int64_t offset, std::span<const std::byte> source) override {
    return memory_.write(offset, source);
  }

 private:
  Buffer memory_;
};

// Memory more than this much larger than a result is not spent on it.
constexpr int64_t kMaxWaste = 2;

}  // namespace

Result<Buffer> ResultBuffers::take(size_t index, int64_t size_bytes) {
  std::shared_ptr<BufferStorage>& kept = kept_[index];
  const bool is_free = kept != nullptr && kept.use_count() == 1;
  // What another thread read of the old result happened before it dropped its reference. Counting
  // up and down here orders it before what is written next (use_count() alone orders nothing, and
  // ThreadSanitizer knows no fences).
  if (is_free) std::shared_ptr<BufferStorage>(kept).reset();
  const bool fits = is_free && kept->size_bytes() >= size_bytes &&
                    kept->size_bytes() / kMaxWaste <= std::max<int64_t>(size_bytes, 4096);
  if (!fits) {
    kept.reset();
    QUERN_ASSIGN_OR_RETURN(Buffer memory, Buffer::allocate_host(size_bytes));
    kept = std::make_shared<ResultStorage>(std::move(memory));
  }
  return Buffer(kept).slice(0, size_bytes);
}

}  // namespace quern::cpu
