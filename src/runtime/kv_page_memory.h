// Memory of the pages of a key-value store: slabs that hold many, so that the system can back them
// with huge pages whatever the size of one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "quern/buffer.h"

namespace quern {

// Memory of several pages of one size, freed as a whole with its last owner. One thread only.
class KvSlab {
 public:
  // `page_bytes` is a multiple of 64. Errors: kResourceExhausted.
  static Result<std::shared_ptr<KvSlab>> make(int64_t page_bytes, int64_t num_pages);

  bool has_room() const { return num_used_ < num_pages_ || !returned_.empty(); }
  // A zeroed page; needs room. The lowest ones come first, and what was never taken is not touched.
  std::byte* take();
  // A page that take() gave.
  void give_back(std::byte* page) { returned_.push_back(page); }

 private:
  KvSlab() = default;

  Buffer buffer_;
  std::byte* data_ = nullptr;
  int64_t page_bytes_ = 0;
  int64_t num_pages_ = 0;
  int64_t num_used_ = 0;              // pages that were taken at least once
  std::vector<std::byte*> returned_;  // of those, the ones that are free
};

// One page. Holds its slab, and gives its place back at the end.
class KvPage {
 public:
  KvPage(std::shared_ptr<KvSlab> slab, std::byte* place) : data(place), slab_(std::move(slab)) {}
  ~KvPage() { slab_->give_back(data); }
  KvPage(const KvPage&) = delete;
  KvPage& operator=(const KvPage&) = delete;

  std::byte* const data;

 private:
  std::shared_ptr<KvSlab> slab_;
};

// Gives pages of one size. Slabs live as long as one of their pages does. One thread only.
class KvPageMemory {
 public:
  // Pages in a slab: about 16 MiB of them, at most 64 and at least one.
  static int64_t pages_of_slab(int64_t page_bytes);

  // A zeroed page of `page_bytes`, the same multiple of 64 at every call. Errors:
  // kResourceExhausted.
  Result<std::shared_ptr<KvPage>> make_page(int64_t page_bytes);

 private:
  std::vector<std::weak_ptr<KvSlab>> slabs_;
};

}  // namespace quern
