// Pieces of weight memory: apart, aligned, zeroed, alive without their maker.
#include "backends/cpu/kernels/weight_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace quern::cpu {
namespace {

std::span<std::byte> bytes_of(Buffer& buffer) {
  return *buffer.mutable_host_view();
}

// Sizes around a cache line, a page, and more. Each piece gets its own mark before the next is
// made: an overlap would overwrite it.
TEST(WeightMemory, PiecesAreAlignedZeroedAndApart) {
  WeightMemory memory;
  std::vector<Buffer> pieces;
  for (const int64_t size : {1, 63, 64, 65, 4096, 100'000}) {
    pieces.push_back(*memory.allocate(size));
    ASSERT_EQ(pieces.back().size_bytes(), size);
    const auto bytes = bytes_of(pieces.back());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0U);
    EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::ranges::fill(bytes, static_cast<std::byte>(pieces.size()));
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto mark = static_cast<std::byte>(i + 1);
    EXPECT_TRUE(std::ranges::all_of(bytes_of(pieces[i]), [=](std::byte b) { return b == mark; }));
  }
}

TEST(WeightMemory, AnEmptyPieceHasNoBytes) {
  WeightMemory memory;
  EXPECT_EQ(memory.allocate(0)->size_bytes(), 0);
}

// 4 times 50 MiB do not fit one block.
TEST(WeightMemory, ManyPiecesPassTheEndOfABlock) {
  WeightMemory memory;
  constexpr int64_t kSize = int64_t{50} << 20;
  std::vector<Buffer> pieces;
  for (int i = 0; i < 4; ++i) {
    pieces.push_back(*memory.allocate(kSize));
    const auto bytes = bytes_of(pieces.back());
    bytes.front() = bytes.back() = static_cast<std::byte>(i + 1);
  }
  for (int i = 0; i < 4; ++i) {
    const auto bytes = bytes_of(pieces[static_cast<size_t>(i)]);
    EXPECT_EQ(bytes.front(), static_cast<std::byte>(i + 1));
    EXPECT_EQ(bytes.back(), static_cast<std::byte>(i + 1));
  }
}

TEST(WeightMemory, APieceOutlivesTheMemory) {
  Buffer piece;
  {
    WeightMemory memory;
    piece = *memory.allocate(1000);
  }
  std::ranges::fill(bytes_of(piece), std::byte{7});
  EXPECT_EQ(bytes_of(piece)[999], std::byte{7});
}

// 200 MiB are more than a block of the pool.
TEST(WeightMemory, LargePiecesHaveBlocksOfTheirOwn) {
  WeightMemory memory;
  constexpr int64_t kSize = int64_t{200} << 20;
  Buffer large = *memory.allocate(kSize);
  EXPECT_EQ(large.size_bytes(), kSize);
  // Huge pages begin at multiples of 2 MiB.
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes_of(large).data()) % (size_t{2} << 20), 0U);
  bytes_of(large).back() = std::byte{1};
}

TEST(WeightMemory, SizesThatNoMachineHasAreErrors) {
  WeightMemory memory;
  EXPECT_EQ(memory.allocate(int64_t{1} << 61).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(memory.allocate(-1).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace quern::cpu
