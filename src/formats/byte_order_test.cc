#include "formats/byte_order.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "formats/byte_cursor.h"

namespace quern {
namespace {

std::vector<std::byte> counting(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

// Widths of 1 to 16 bytes; a rest that makes no group is a mistake of the caller.
TEST(ByteOrder, GroupsAreReversedOnTheirOwn) {
  auto bytes = counting(8);
  const auto original = bytes;
  reverse_byte_groups(bytes, 1);
  EXPECT_EQ(bytes, original);
  reverse_byte_groups(bytes, 2);
  EXPECT_EQ(bytes[0], original[1]);
  // First and last byte of the run: a swap of the whole run in one piece would put them elsewhere.
  EXPECT_EQ(bytes[7], original[6]);
  bytes = original;
  reverse_byte_groups(bytes, 4);
  EXPECT_EQ(bytes[0], original[3]);
  EXPECT_EQ(bytes[4], original[7]);
  bytes = original;
  reverse_byte_groups(bytes, 8);
  EXPECT_EQ(bytes[0], original[7]);
  reverse_byte_groups({}, 4);
}

// Swapping twice changes nothing, and one block does not reach into the next.
TEST(ByteOrder, EverySwapIsItsOwnOpposite) {
  // Formats whose words mix codes, signs and scales: no description says how to swap them.
  const std::set<DType> without = {DType::kIQ2_XXS, DType::kIQ3_XXS, DType::kIQ1_M};
  for (const DTypeInfo& info : all_dtypes()) {
    const auto block = static_cast<size_t>(info.block_bytes);
    // Three blocks: the middle one has neighbours on both sides that a wrong stride would touch.
    auto bytes = counting(3 * block);
    const auto original = bytes;
    const auto swapped = swap_byte_order(info.dtype, bytes);
    if (without.contains(info.dtype)) {
      ASSERT_FALSE(swapped) << info.name;
      EXPECT_EQ(swapped.error().code, ErrorCode::kUnimplemented);
      EXPECT_EQ(swapped.error().message,
                "The format " + std::string(info.name) + " has no defined big-endian form.");
      EXPECT_EQ(bytes, original) << info.name;
      continue;
    }
    ASSERT_TRUE(swapped) << info.name;
    auto one = std::vector<std::byte>(original.begin(), original.begin() + info.block_bytes);
    ASSERT_TRUE(swap_byte_order(info.dtype, one));
    EXPECT_TRUE(std::equal(one.begin(), one.end(), bytes.begin())) << info.name;
    ASSERT_TRUE(swap_byte_order(info.dtype, bytes));
    EXPECT_EQ(bytes, original) << info.name;
  }
}

// The bytes of a block that change places, by format.
std::string moved_bytes(DType dtype) {
  std::vector<std::byte> bytes(static_cast<size_t>(dtype_info(dtype).block_bytes));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_TRUE(swap_byte_order(dtype, bytes));
  std::string moved;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != static_cast<std::byte>(i))
      moved += (moved.empty() ? "" : " ") + std::to_string(i);
  }
  return moved;
}

// Offsets counted by hand from the definition of each block.
TEST(ByteOrder, FieldsOfBlocksLieWhereGgmlHasThem) {
  EXPECT_EQ(moved_bytes(DType::kQ4_0), "0 1");
  EXPECT_EQ(moved_bytes(DType::kQ4_1), "0 1 2 3");
  EXPECT_EQ(moved_bytes(DType::kQ5_0), "0 1 2 3 4 5");
  EXPECT_EQ(moved_bytes(DType::kQ5_1), "0 1 2 3 4 5 6 7");
  EXPECT_EQ(moved_bytes(DType::kQ8_0), "0 1");
  EXPECT_EQ(moved_bytes(DType::kQ2_K), "80 81 82 83");
  EXPECT_EQ(moved_bytes(DType::kQ3_K), "108 109");
  EXPECT_EQ(moved_bytes(DType::kQ4_K), "0 1 2 3");
  EXPECT_EQ(moved_bytes(DType::kQ6_K), "208 209");
  EXPECT_EQ(moved_bytes(DType::kTQ2_0), "64 65");
  EXPECT_EQ(moved_bytes(DType::kMXFP4), "");
  EXPECT_EQ(moved_bytes(DType::kNVFP4), "");
  EXPECT_EQ(moved_bytes(DType::kU8), "");
  EXPECT_EQ(moved_bytes(DType::kBF16), "0 1");
  EXPECT_EQ(moved_bytes(DType::kComplex64), "0 1 2 3 4 5 6 7");
}

// Real and imaginary part stay in their order.
TEST(ByteOrder, ComplexNumbersSwapPartByPart) {
  std::vector<std::byte> bytes(8);
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(i);
  ASSERT_TRUE(swap_byte_order(DType::kComplex64, bytes));
  EXPECT_EQ(bytes[0], std::byte{3});
  EXPECT_EQ(bytes[4], std::byte{7});
}

// Every width.
TEST(ByteCursor, TakesNumbersOfBothOrders) {
  const auto bytes = std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  ByteCursor little(bytes);
  ByteCursor big(bytes, std::endian::big);
  uint32_t a = 0;
  uint32_t b = 0;
  ASSERT_TRUE(little.take_number(a));
  ASSERT_TRUE(big.take_number(b));
  EXPECT_EQ(a, 0x04030201U);
  EXPECT_EQ(b, 0x01020304U);
  EXPECT_EQ(little.remaining(), 0U);
  EXPECT_EQ(little.offset(), 4U);
}

// So that the error can name the place.
TEST(ByteCursor, MovesNothingWhereTooFewBytesRemain) {
  const auto bytes = counting(3);
  ByteCursor cursor(bytes);
  uint32_t word = 77;
  std::string_view text = "kept";
  EXPECT_FALSE(cursor.take_number(word));
  EXPECT_EQ(word, 77U);
  EXPECT_FALSE(cursor.take_bytes(4, text));
  // offset + SIZE_MAX wraps: the check must subtract, not add.
  EXPECT_FALSE(cursor.take_bytes(SIZE_MAX, text));
  EXPECT_EQ(text, "kept");
  EXPECT_EQ(cursor.offset(), 0U);
  uint8_t byte = 0;
  EXPECT_TRUE(cursor.take_number(byte));
  EXPECT_TRUE(cursor.take_bytes(0, text));
  EXPECT_TRUE(text.empty());
  EXPECT_TRUE(cursor.take_bytes(2, text));
  EXPECT_EQ(text.size(), 2U);
  EXPECT_FALSE(cursor.take_number(byte));
  EXPECT_TRUE(ByteCursor({}).take_bytes(0, text));
}

}  // namespace
}  // namespace quern
