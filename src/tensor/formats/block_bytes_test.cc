// Tests of the little-endian fields of blocks, at any alignment.
#include "tensor/formats/block_bytes.h"

#include <gtest/gtest.h>

#include <array>

namespace quern {
namespace {

// Blocks have odd sizes.
TEST(BlockBytes, NumbersAreLittleEndianAtAnyAlignment) {
  std::array<std::byte, 12> bytes{};
  // All four alignments of a 32-bit number: blocks of 17 or 18 bytes put fields at each.
  for (size_t offset = 0; offset < 4; ++offset) {
    store_u32(bytes.data() + offset, 0x12345678);
    EXPECT_EQ(load_u32(bytes.data() + offset), 0x12345678U);
    EXPECT_EQ(load_u16(bytes.data() + offset), 0x5678U);
    EXPECT_EQ(load_u8(bytes.data() + offset + 3), 0x12U);
  }
}

// Fields are masked.
TEST(BlockBytes, StoresDropHigherBits) {
  std::array<std::byte, 4> bytes{};
  store_u8(bytes.data(), 0x1FF);
  EXPECT_EQ(load_u32(bytes.data()), 0xFFU);
  store_u16(bytes.data(), 0xABCDEF);
  EXPECT_EQ(load_u32(bytes.data()), 0xCDEFU);
}

// Scales are stored once.
TEST(BlockBytes, HalvesRoundToNearest) {
  std::array<std::byte, 2> bytes{};
  for (const float value : {0.0F, 1.0F, -2.5F, 65504.0F, 0x1p-24F}) {
    store_f16(bytes.data(), value);
    EXPECT_EQ(load_f16(bytes.data()), value);
  }
  store_f16(bytes.data(), 1.0F + 0x1p-12F);  // half of the half of the last bit
  EXPECT_EQ(load_f16(bytes.data()), 1.0F);
}

// ggml's order.
TEST(BlockBytes, PartsOfAByteCountFromTheLowEnd) {
  const std::byte b{0xE4};  // 11 10 01 00
  EXPECT_EQ(low_nibble(b), 4);
  EXPECT_EQ(high_nibble(b), 14);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bit_pair(b, i), i);
}

}  // namespace
}  // namespace quern
