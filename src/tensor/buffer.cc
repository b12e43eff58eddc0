// Host storage and the checked view of any storage.
#include "quern/buffer.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"

namespace quern {
namespace {

// A cache line, and the widest vector: rows that start a buffer load without splits.
constexpr int64_t kAlignment = 64;
// 2 MiB: from here memory is mapped, and the system asked for huge pages, which cut the cost of
// address translation when weights stream.
constexpr int64_t kHugePage = int64_t{1} << 21;

// Memory of this process. Owned: from aligned_alloc or mmap; borrowed: kept alive by `owner`.
class HostStorage final : public BufferStorage {
 public:
  HostStorage(std::byte* data, int64_t size, bool is_mapped)
      : data_(data), size_(size), is_mapped_(is_mapped) {}
  HostStorage(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : data_(const_cast<std::byte*>(bytes.data())),
        size_(static_cast<int64_t>(bytes.size())),
        owner_(std::move(owner)),
        is_borrowed_(true) {}
  ~HostStorage() override {
    if (is_borrowed_) return;
    if (is_mapped_) {
      ::munmap(data_, static_cast<size_t>(size_));
    } else {
      std::free(data_);
    }
  }
  HostStorage(const HostStorage&) = delete;
  HostStorage& operator=(const HostStorage&) = delete;

  int64_t size_bytes() const override { return size_; }
  std::string_view place() const override { return is_borrowed_ ? "file" : "host"; }
  Result<std::span<const std::byte>> host_view() const override {
    return std::span<const std::byte>(data_, static_cast<size_t>(size_));
  }
  Result<std::span<std::byte>> mutable_host_view() override {
    if (is_borrowed_) return fail::precondition("The buffer is read-only.");
    return std::span<std::byte>(data_, static_cast<size_t>(size_));
  }
  Result<void> read(int64_t offset, std::span<std::byte> destination) const override {
    if (destination.empty()) return {};  // its pointer may be null
    std::memcpy(destination.data(), data_ + offset, destination.size());
    return {};
  }
  Result<void> write(int64_t offset, std::span<const std::byte> source) override {
    if (is_borrowed_) return fail::precondition("The buffer is read-only.");
    if (source.empty()) return {};
    std::memcpy(data_ + offset, source.data(), source.size());
    return {};
  }

 private:
  // Read-only for borrowed bytes: the const that the constructor cast away is kept by the checks of
  // mutable_host_view() and write().
  std::byte* data_;
  int64_t size_;
  // Of borrowed bytes: what must live as long as they are read, such as the mapped file. Null for
  // owned memory.
  std::shared_ptr<const void> owner_;
  // Owned memory only: freed by munmap() when set, by free() otherwise.
  bool is_mapped_ = false;
  bool is_borrowed_ = false;
};

// Zeroed memory that begins at a huge page, where the system has them; null when there is no room.
// Pages come into being when they are touched.
std::byte* map_huge_pages(int64_t size_bytes) {
  const auto size = static_cast<size_t>(size_bytes);
  constexpr auto kHuge = static_cast<size_t>(kHugePage);
  if (size > SIZE_MAX - kHuge) return nullptr;
  // mmap() aligns to small pages only, so one huge page more is mapped and the ends are given back:
  //    mapped                                         mapped + size + 2 MiB
  //    |<- before ->|<------- size ------->|<- unused ->|
  //                 ^ multiple of 2 MiB    ^ rounded up to a small page
  // MAP_NORESERVE: pages that are never touched reserve no swap space.
  void* mapped = ::mmap(nullptr, size + kHuge, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  const size_t before = (kHuge - reinterpret_cast<uintptr_t>(begin) % kHuge) % kHuge;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t used = (before + size + page - 1) / page * page;
  if (before > 0) ::munmap(begin, before);
  if (size + kHuge > used) ::munmap(begin + used, size + kHuge - used);
  // A wish: a system without huge pages refuses it, and the memory works all the same.
  ::madvise(begin + before, size, MADV_HUGEPAGE);
  return begin + before;
}

// Memory and swap space in bytes.
int64_t memory_of_machine() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return INT64_MAX;
  return static_cast<int64_t>((info.totalram + info.totalswap) * info.mem_unit);
}

// Whether `size` bytes from `offset` lie inside `limit`; the sum may not overflow.
Result<void> check_range(int64_t offset, int64_t size, int64_t limit) {
  const auto end = checked_add(offset, size);
  if (offset < 0 || size < 0 || !end || *end > limit) {
    return fail::out_of_range("Bytes [{}, +{}) are outside a buffer of {} bytes.", offset, size,
                              limit);
  }
  return {};
}

}  // namespace

// A buffer over the whole storage; an empty one without storage.
Buffer::Buffer(std::shared_ptr<BufferStorage> storage)
    : storage_(std::move(storage)), size_bytes_(storage_ ? storage_->size_bytes() : 0) {}

// Zeroed host memory. Large buffers are mapped, so that pages that are never touched cost
// nothing.
Result<Buffer> Buffer::allocate_host(int64_t size_bytes) {
  if (size_bytes < 0) return fail::invalid("A buffer of {} bytes is negative.", size_bytes);
  if (size_bytes >= kHugePage) {
    // Pages come when they are touched, so the system would promise more than there is.
    if (const int64_t limit = memory_of_machine(); size_bytes > limit) {
      return fail::exhausted("{} bytes of host memory are not available: the machine has {}.",
                             size_bytes, limit);
    }
    std::byte* data = map_huge_pages(size_bytes);
    if (data == nullptr)
      return fail::exhausted("{} bytes of host memory are not available.", size_bytes);
    return Buffer(std::make_shared<HostStorage>(data, size_bytes, true));
  }
  // aligned_alloc() wants a multiple of the alignment, and what it returns for 0 bytes is not
  // specified: an empty buffer gets one cache line of its own.
  const int64_t rounded = round_up(std::max<int64_t>(size_bytes, 1), kAlignment);
  void* data = std::aligned_alloc(kAlignment, static_cast<size_t>(rounded));
  if (data == nullptr)
    return fail::exhausted("{} bytes of host memory are not available.", size_bytes);
  std::memset(data, 0, static_cast<size_t>(rounded));
  return Buffer(std::make_shared<HostStorage>(static_cast<std::byte*>(data), size_bytes, false));
}

// Bytes that somebody else owns, such as a mapped file: read-only.
Buffer Buffer::wrap_host(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  return Buffer(std::make_shared<HostStorage>(bytes, std::move(owner)));
}

// For errors and reports.
std::string_view Buffer::place() const {
  return storage_ ? storage_->place() : "nowhere";
}

// Ranges are relative to this buffer, which may be a slice itself.
Result<Buffer> Buffer::slice(int64_t offset, int64_t size_bytes) const {
  QUERN_TRY(check_range(offset, size_bytes, size_bytes_));
  Buffer part = *this;
  part.offset_ += offset;
  part.size_bytes_ = size_bytes;
  return part;
}

// The bytes, where the host can see them.
Result<std::span<const std::byte>> Buffer::host_view() const {
  if (!storage_) return fail::precondition("The buffer is empty: nothing was allocated.");
  // subspan() cannot fail: slice() keeps offset_ + size_bytes_ within the storage.
  QUERN_ASSIGN_OR_RETURN(const auto whole, std::as_const(*storage_).host_view());
  return whole.subspan(static_cast<size_t>(offset_), static_cast<size_t>(size_bytes_));
}

// The same for writing; borrowed bytes refuse.
Result<std::span<std::byte>> Buffer::mutable_host_view() {
  if (!storage_) return fail::precondition("The buffer is empty: nothing was allocated.");
  QUERN_ASSIGN_OR_RETURN(const auto whole, storage_->mutable_host_view());
  return whole.subspan(static_cast<size_t>(offset_), static_cast<size_t>(size_bytes_));
}

// Copies out of any storage, a device's too.
Result<void> Buffer::read(int64_t offset, std::span<std::byte> destination) const {
  if (!storage_) return fail::precondition("The buffer is empty: nothing was allocated.");
  QUERN_TRY(check_range(offset, static_cast<int64_t>(destination.size()), size_bytes_));
  return storage_->read(offset_ + offset, destination);
}

// Copies in; the range is checked before anything is written.
Result<void> Buffer::write(int64_t offset, std::span<const std::byte> source) {
  if (!storage_) return fail::precondition("The buffer is empty: nothing was allocated.");
  QUERN_TRY(check_range(offset, static_cast<int64_t>(source.size()), size_bytes_));
  return storage_->write(offset_ + offset, source);
}

}  // namespace quern
