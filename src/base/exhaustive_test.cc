// Arithmetic, digests and escapes against slow definitions over whole ranges and edge sets.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "base/checked_math.h"
#include "base/hash.h"
#include "base/html_escape.h"
#include "base/sha256.h"

namespace quern {
namespace {

__extension__ using Wide = __int128;

// Numbers where 64-bit arithmetic turns over.
// 3037000499 and ...500 straddle the square root of 2^63.
std::vector<int64_t> edge_numbers() {
  std::set<int64_t> numbers = {0, 1, -1, 2, -2, 3, 7, 1000, 3037000499, 3037000500};
  for (int shift = 1; shift < 63; ++shift) {
    for (const int64_t offset : {-1, 0, 1}) {
      numbers.insert((int64_t{1} << shift) + offset);
      numbers.insert(-(int64_t{1} << shift) + offset);
    }
  }
  for (const int64_t offset : {0, 1, 2}) {
    numbers.insert(INT64_MAX - offset);
    numbers.insert(INT64_MIN + offset);
  }
  return {numbers.begin(), numbers.end()};
}

// The oracle: the same arithmetic in 128 bits, where nothing overflows.
bool fits(Wide value) {
  return value >= INT64_MIN && value <= INT64_MAX;
}

// Every pair of numbers next to a power of two.
// Some 380 numbers: about 140,000 pairs.
TEST(CheckedMathEdges, ProductsAndSumsAgreeWith128Bits) {
  const auto numbers = edge_numbers();
  for (const int64_t a : numbers) {
    for (const int64_t b : numbers) {
      const Wide product = Wide{a} * b, sum = Wide{a} + b;
      const auto checked_product = checked_multiply(a, b);
      const auto checked_sum = checked_add(a, b);
      ASSERT_EQ(checked_product.has_value(), fits(product)) << a << " * " << b;
      ASSERT_EQ(checked_sum.has_value(), fits(sum)) << a << " + " << b;
      if (checked_product) {
        ASSERT_EQ(*checked_product, static_cast<int64_t>(product));
      }
      if (checked_sum) {
        ASSERT_EQ(*checked_sum, static_cast<int64_t>(sum));
      }
    }
  }
}

// Division and multiplication agree.
TEST(CheckedMathEdges, PiecesHoldTheWhole) {
  for (const int64_t a : edge_numbers()) {
    if (a < 0) continue;
    // Sizes that the code really rounds to: blocks, chunks, alignments.
    for (const int64_t b : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{32}, int64_t{255},
                            int64_t{256}, int64_t{4096}, int64_t{1} << 40}) {
      if (Wide{a} + b > INT64_MAX) continue;  // outside of the contract
      const int64_t pieces = ceil_divide(a, b);
      EXPECT_GE(Wide{pieces} * b, a);
      EXPECT_LT(Wide{pieces - 1} * b, a == 0 ? 1 : a);
      EXPECT_EQ(round_up(a, b), pieces * b);
      EXPECT_EQ(round_up(a, b) % b, 0);
    }
  }
}

// Flipping one bit of the text flips about half of the 64 bits of the hash.
TEST(HashQuality, EveryBitReachesHalfOfTheHash) {
  std::string text = "a key of sixteen";
  const uint64_t before = Hasher().text(text).digest();
  int total = 0, lowest = 64;
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    const int flipped = std::popcount(before ^ Hasher().text(text).digest());
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    total += flipped;
    lowest = std::min(lowest, flipped);
  }
  // 128 flips of 64 bits each: the mean has a deviation of 4 / sqrt(128) = 0.35; 12 of 64 is five
  // deviations below 32.
  EXPECT_NEAR(total / 128.0, 32, 2);
  EXPECT_GT(lowest, 12);
}

// Each bit of the hashes of 0, 1, 2, ... is set in half of them.
TEST(HashQuality, BitsOfNumbersAreBalanced) {
  constexpr int kCount = 20'000;
  int ones[64] = {};
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t hash = Hasher().number(i).digest();
    for (int bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(hash >> bit & 1);
  }
  for (const int count : ones) EXPECT_NEAR(count, kCount / 2, 5 * 71);  // five deviations
}

// "ab", "c" is not "a", "bc".
// Six ways to say nearly the same, six hashes.
TEST(HashQuality, BordersOfTextsCount) {
  std::set<uint64_t> hashes;
  EXPECT_TRUE(hashes.insert(Hasher().text("ab").text("").digest()).second);
  EXPECT_TRUE(hashes.insert(Hasher().text("a").text("b").digest()).second);
  EXPECT_TRUE(hashes.insert(Hasher().text("").text("ab").digest()).second);
  EXPECT_TRUE(hashes.insert(Hasher().text("ab").digest()).second);
  EXPECT_TRUE(hashes.insert(Hasher().bytes("ab", 2).digest()).second);
  EXPECT_TRUE(hashes.insert(Hasher().text(std::string("ab\0", 3)).digest()).second);
}

struct DigestRow {
  size_t size;
  std::string_view digest;
};

// Byte i of the text of n bytes is (7 i + n) mod 256; digests by Python's hashlib.
const std::vector<DigestRow> kDigests = {
    {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {1, "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"},
    {3, "6ab0dba1f4f1dfbb37b4f9eeb092c09fca4900ad32bdcd147d8dde35d6c87c35"},
    {55, "81afe5b788dc2ce138ff83d9b20164db75a94d75d2b2432eea4a0ef605088c72"},
    {56, "2aba54f0ac632420a2b502431408866e40e1d5e430df4cd822642c78ab2eb9c1"},
    {57, "903284efbf9100e8ba1614ec65eacacad125e03f857cae7acbf8b73b23e0fdfe"},
    {63, "733d3d4ee79ee67145bf73da13588f6f235d37414fc64b14a2f00f1762792f5e"},
    {64, "79322907b3e9d013d7dc2c2f256674dbf733045cde01df3539271c6f5605feb8"},
    {65, "d85c007c6eb440f085afa2b84f6f2bce4658b240e9f62cb1364bf0485a57e720"},
    {119, "6c87eedf096b345de205b702e5223b73b447a3207791ded3ea007ba15ed6736e"},
    {120, "42500cf6a1e3936d6b9e0bcfe296d654b63255e525487d3634d0b15fde591c4d"},
    {127, "68f6ff710276900c0ffbbc57426f67e00c2e01f0750c7edc25ac06b8ce7a8095"},
    {128, "489d55fea9a73af36b6dd0be7b4117d8e5683386d39544e8a44c99a87f368707"},
    {1000, "6b0df76627243d095b0c4400cb658b7e804dd03461cc03aee8fc8fe0bcada168"},
};

// Each length around the padding of one and two blocks.
// 55 is the longest text whose padding fits its block, 56 the shortest that needs another; 119 and
// 120 repeat it for the second block.
TEST(Sha256Lengths, AgreeWithHashlib) {
  for (const DigestRow& row : kDigests) {
    std::vector<std::byte> bytes;
    for (size_t i = 0; i < row.size; ++i) bytes.push_back(static_cast<std::byte>(7 * i + row.size));
    EXPECT_EQ(Sha256().update(bytes).hex_digest(), row.digest) << row.size;
    // The same byte by byte.
    Sha256 slow;
    for (const std::byte b : bytes) slow.update(std::span(&b, 1));
    EXPECT_EQ(slow.hex_digest(), row.digest) << row.size;
  }
}

// All 256.
TEST(EscapeEveryByte, ReplacesFiveAndKeepsTheRest) {
  for (int code = 0; code < 256; ++code) {
    const std::string text(1, static_cast<char>(code));
    const std::string escaped = escape_html(text);
    switch (code) {
      case '&':
        EXPECT_EQ(escaped, "&amp;");
        break;
      case '<':
        EXPECT_EQ(escaped, "&lt;");
        break;
      case '>':
        EXPECT_EQ(escaped, "&gt;");
        break;
      case '"':
        EXPECT_EQ(escaped, "&#34;");
        break;
      case '\'':
        EXPECT_EQ(escaped, "&#39;");
        break;
      default:
        EXPECT_EQ(escaped, text) << code;
    }
  }
  // Escaping twice shows what was escaped once.
  EXPECT_EQ(escape_html(escape_html("<")), "&amp;lt;");
}

}  // namespace
}  // namespace quern
