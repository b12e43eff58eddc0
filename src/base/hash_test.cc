// Tests that hashes are the published function, keep pieces apart and are frozen.
#include "base/hash.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace quern {
namespace {

// FNV-1a 64 with the finaliser of MurmurHash3, computed apart from this code.
// Frozen: saved caches and receipts hold these numbers.
TEST(Hasher, IsTheStatedFunction) {
  EXPECT_EQ(Hasher().digest(), 0xefd01f60ba992926U);
  EXPECT_EQ(Hasher().bytes("a", 1).digest(), 0x82a2a958a9bece5bU);
  EXPECT_EQ(Hasher().bytes("foobar", 6).digest(), 0x2c22194922d1672bU);
  EXPECT_EQ(Hasher().text("abc").digest(), 0x9a38c87922ed16e8U);
  EXPECT_EQ(Hasher().number(0x0123456789abcdefU).digest(), 0xf1b1f7378097a748U);
}

// Texts carry their length.
TEST(Hasher, BytesJoinAndTextsDoNot) {
  EXPECT_EQ(Hasher().bytes("ab", 2).bytes("c", 1).digest(), Hasher().bytes("abc", 3).digest());
  EXPECT_NE(Hasher().text("ab").text("c").digest(), Hasher().text("a").text("bc").digest());
  EXPECT_NE(Hasher().text("").text("a").digest(), Hasher().text("a").text("").digest());
  EXPECT_NE(Hasher().text("").digest(), Hasher().digest());
}

// A multiplication alone would lose them.
TEST(Hasher, ZerosCount) {
  const std::array<char, 3> zeros = {};
  EXPECT_NE(Hasher().bytes(zeros.data(), 1).digest(), Hasher().bytes(zeros.data(), 2).digest());
  EXPECT_NE(Hasher().number(0).digest(), Hasher().digest());
}

// It may be asked in between.
TEST(Hasher, DigestLeavesTheStateAlone) {
  Hasher hasher;
  hasher.text("a");
  const uint64_t first = hasher.digest();
  EXPECT_EQ(hasher.digest(), first);
  EXPECT_EQ(hasher.number(1).digest(), Hasher().text("a").number(1).digest());
}

// Ids and extents are small.
// Of 20,000 random 64-bit values, a pair collides with probability 1e-11.
TEST(Hasher, SmallNumbersDoNotCollide) {
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 20'000; ++i) seen.insert(Hasher().number(i).digest());
  EXPECT_EQ(seen.size(), 20'000U);
}

// The finaliser: one bit of the last byte changes about half of the bits.
TEST(Hasher, LastBytesReachAllBits) {
  int changed = 0;
  for (uint64_t i = 0; i < 256; ++i) {
    const uint64_t difference =
        // The last byte that enters: in FNV alone it would reach only its own bits and those above.
        Hasher().number(i << 56).digest() ^ Hasher().number((i ^ 1) << 56).digest();
    changed += __builtin_popcountll(difference);
  }
  EXPECT_NEAR(changed / 256.0, 32, 4);
}

}  // namespace
}  // namespace quern
