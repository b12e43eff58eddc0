// Pages of key-value stores: zeroed, apart from each other, reused, and freed with their slab.
#include "runtime/kv_page_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace quern {
namespace {

constexpr int64_t kBytes = 256;

bool is_zero(const KvPage& page, int64_t size) {
  return std::all_of(page.data, page.data + size, [](std::byte b) { return b == std::byte{0}; });
}
void fill(const KvPage& page, int64_t size) {
  std::memset(page.data, 0x5A, static_cast<size_t>(size));
}

TEST(KvPageMemory, PagesAreZeroedAlignedAndApart) {
  KvPageMemory memory;
  std::vector<std::shared_ptr<KvPage>> pages;
  std::set<std::byte*> places;
  for (int i = 0; i < 200; ++i) {  // several slabs
    auto page = memory.make_page(kBytes);
    ASSERT_TRUE(page.has_value());
    EXPECT_TRUE(is_zero(**page, kBytes)) << i;
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*page)->data) % 64, 0U) << i;
    fill(**page, kBytes);
    places.insert((*page)->data);
    pages.push_back(std::move(*page));
  }
  ASSERT_EQ(places.size(), 200U);
  for (auto it = places.begin(); std::next(it) != places.end(); ++it) {
    EXPECT_GE(*std::next(it) - *it, kBytes);
  }
}

TEST(KvPageMemory, APlaceThatCameBackIsZeroedAndUsedFirst) {
  KvPageMemory memory;
  auto kept = memory.make_page(kBytes);
  auto page = memory.make_page(kBytes);
  ASSERT_TRUE(kept && page);
  fill(**kept, kBytes);
  fill(**page, kBytes);
  std::byte* place = (*page)->data;
  page->reset();
  auto next = memory.make_page(kBytes);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ((*next)->data, place);
  EXPECT_TRUE(is_zero(**next, kBytes));
  EXPECT_EQ((*kept)->data[0], std::byte{0x5A});
}

TEST(KvPageMemory, AFullSlabIsFollowedByAnotherAndFillsAgain) {
  KvPageMemory memory;
  const int64_t count = KvPageMemory::pages_of_slab(kBytes);
  std::vector<std::shared_ptr<KvPage>> pages;
  for (int64_t i = 0; i < count + 1; ++i) pages.push_back(*memory.make_page(kBytes));
  std::byte* place = pages[3]->data;
  pages[3].reset();
  EXPECT_EQ((*memory.make_page(kBytes))->data, place);
}

TEST(KvPageMemory, PagesOutliveTheMemoryThatMadeThem) {
  std::shared_ptr<KvPage> page;
  {
    KvPageMemory memory;
    page = *memory.make_page(kBytes);
  }
  fill(*page, kBytes);
  EXPECT_EQ(page->data[kBytes - 1], std::byte{0x5A});
}

TEST(KvPageMemory, TheLastPageFreesTheSlab) {
  auto slab = KvSlab::make(kBytes, 2);
  ASSERT_TRUE(slab.has_value());
  const std::weak_ptr<KvSlab> watched = *slab;
  auto first = std::make_shared<KvPage>(*slab, (*slab)->take());
  auto second = std::make_shared<KvPage>(*slab, (*slab)->take());
  EXPECT_FALSE((*slab)->has_room());
  slab->reset();
  first.reset();
  EXPECT_FALSE(watched.expired());
  EXPECT_TRUE(watched.lock()->has_room());
  second.reset();
  EXPECT_TRUE(watched.expired());
}

TEST(KvPageMemory, SlabsAreLargeForLargePagesOnly) {
  EXPECT_EQ(KvPageMemory::pages_of_slab(64), 64);
  EXPECT_EQ(KvPageMemory::pages_of_slab(int64_t{1} << 20), 16);
  EXPECT_EQ(KvPageMemory::pages_of_slab((int64_t{16} << 20) + 64), 1);
  EXPECT_EQ(KvPageMemory::pages_of_slab(int64_t{1} << 40), 1);
}

TEST(KvPageMemory, TooLargeIsAnError) {
  KvPageMemory memory;
  const auto page = memory.make_page((int64_t{1} << 62) / 64 * 64);
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, ErrorCode::kResourceExhausted);
  const auto slab = KvSlab::make(int64_t{1} << 62, 64);
  ASSERT_FALSE(slab.has_value());
  EXPECT_EQ(slab.error().message,
            "64 pages of 4611686018427387904 bytes of keys and values have no room in memory.");
}

}  // namespace
}  // namespace quern
