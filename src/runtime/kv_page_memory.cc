// Slabs, and the search for one with room.
#include "runtime/kv_page_memory.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/fail.h"

namespace quern {
namespace {

// Several huge pages, of which the last is partly unused; little beside the weights of a model.
constexpr int64_t kSlabBytes = int64_t{16} << 20;
// Small pages are those of small models, which need no slab of megabytes.
constexpr int64_t kMostPages = 64;

}  // namespace

// Memory comes zeroed, large memory only when it is touched.
Result<std::shared_ptr<KvSlab>> KvSlab::make(int64_t page_bytes, int64_t num_pages) {
  const auto size = checked_multiply(page_bytes, num_pages);
  if (!size) {
    return fail::exhausted("{} pages of {} bytes of keys and values have no room in memory.",
                           num_pages, page_bytes);
  }
  std::shared_ptr<KvSlab> slab(new KvSlab());
  QUERN_ASSIGN_OR_RETURN(slab->buffer_, Buffer::allocate_host(*size));
  QUERN_ASSIGN_OR_RETURN(const auto bytes, slab->buffer_.mutable_host_view());
  slab->data_ = bytes.data();
  slab->page_bytes_ = page_bytes;
  slab->num_pages_ = num_pages;
  return slab;
}

std::byte* KvSlab::take() {
  QUERN_DCHECK(has_room());
  if (returned_.empty()) return data_ + page_bytes_ * num_used_++;
  std::byte* page = returned_.back();
  returned_.pop_back();
  std::memset(page, 0, static_cast<size_t>(page_bytes_));
  return page;
}

int64_t KvPageMemory::pages_of_slab(int64_t page_bytes) {
  return std::clamp<int64_t>(kSlabBytes / std::max<int64_t>(page_bytes, 1), 1, kMostPages);
}

Result<std::shared_ptr<KvPage>> KvPageMemory::make_page(int64_t page_bytes) {
  std::erase_if(slabs_, [](const auto& slab) { return slab.expired(); });
  for (const auto& weak : slabs_) {
    auto slab = weak.lock();
    if (slab->has_room()) {
      std::byte* place = slab->take();
      return std::make_shared<KvPage>(std::move(slab), place);
    }
  }
  QUERN_ASSIGN_OR_RETURN(auto slab, KvSlab::make(page_bytes, pages_of_slab(page_bytes)));
  std::byte* place = slab->take();
  slabs_.push_back(slab);
  return std::make_shared<KvPage>(std::move(slab), place);
}

}  // namespace quern
