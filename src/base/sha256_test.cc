#include "base/sha256.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

std::string digest(std::string_view text) {
  return Sha256().update(text).hex_digest();
}

// The examples of FIPS 180-4 and sha256sum's output.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Every length around the padding's cases, in every split into two pieces.
// 50 to 139 bytes cover a block, its padding and the next; cuts at both ends give empty pieces.
TEST(Sha256, PiecesDoNotMatter) {
  for (size_t size = 50; size < 140; ++size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>(i * 7 + 1);
    const std::string whole = digest(text);
    for (size_t cut = 0; cut <= size; ++cut) {
      Sha256 hash;
      hash.update(std::string_view(text).substr(0, cut));
      hash.update(std::string_view(text).substr(cut));
      ASSERT_EQ(hash.hex_digest(), whole) << size << ", " << cut;
    }
  }
}

// Each flipped bit changes the digest.
// A byte that compress() skipped would leave the digest as it was.
TEST(Sha256, EveryBitCounts) {
  const std::string text(100, 'x');
  for (size_t bit = 0; bit < 800; ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(digest(changed), digest(text));
  }
}

}  // namespace
}  // namespace quern
