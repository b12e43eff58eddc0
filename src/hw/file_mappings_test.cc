// What counts as a mapped file, and that its bytes survive being dropped.
#include "hw/file_mappings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/mapped_file.h"
#include "support/temporary_folder.h"

namespace quern {
namespace {

std::span<const std::byte> bytes_at(uint64_t address, size_t size) {
  return {reinterpret_cast<const std::byte*>(address), size};
}

// One line for each condition that must not hold: writable, shared, without a file, executable; a
// path with spaces; a last line without a newline. Probed at both ends and one byte beyond.
TEST(FileMappings, OnlyPrivateReadOnlyFilesCount) {
  const auto maps = FileMappings::parse(
      "00010000-00020000 r--p 00000000 fe:00 17 /a/file with spaces\n"
      "00030000-00040000 rw-p 00000000 fe:00 17 /written\n"
      "00050000-00060000 r--s 00000000 fe:00 17 /shared\n"
      "00070000-00080000 r--p 00000000 00:00 0 \n"
      "00090000-000a0000 r-xp 00000000 fe:00 17 /code\n"
      "000b0000-000c0000 r--p 00001000 fe:00 99 /b");
  EXPECT_TRUE(maps.holds(bytes_at(0x10000, 0x10000)));
  EXPECT_TRUE(maps.holds(bytes_at(0x1FFFF, 1)));
  EXPECT_TRUE(maps.holds(bytes_at(0xb0000, 0x10000)));
  EXPECT_FALSE(maps.holds(bytes_at(0x10000, 0x10001)));
  EXPECT_FALSE(maps.holds(bytes_at(0xFFFF, 2)));
  for (const uint64_t other : {0x30000, 0x50000, 0x70000, 0x90000, 0xd0000}) {
    EXPECT_FALSE(maps.holds(bytes_at(other, 1))) << other;
  }
}

// Cut after each field, a wrong digit in each number, an empty range.
TEST(FileMappings, LinesThatMakeNoSenseAreIgnored) {
  for (const char* text :
       {"", "\n\n", "x", "10000 r--p 0 0 5", "10000-0x r--p 0 fe:00 5 /a", "20000-10000 r--p 0 0 5",
        "10000-20000", "10000-20000 r--p", "10000-20000 r--p 0 fe:00 five /a", "-- r--p 0 0 5"}) {
    EXPECT_FALSE(FileMappings::parse(text).holds(bytes_at(0x10000, 1))) << text;
  }
}

// 100,000 bytes: 24 whole pages and a part. The first release begins and ends inside pages.
TEST(FileMappings, ReleasedPagesOfAFileAreReadAgain) {
  const test::TemporaryFolder folder("file_mappings");
  constexpr size_t kSize = 100'000;
  std::vector<char> content(kSize);
  for (size_t i = 0; i < kSize; ++i) content[i] = static_cast<char>(i * 31);
  std::ofstream(folder.file("x"), std::ios::binary).write(content.data(), kSize);
  const auto file = MappedFile::open(folder.file("x"));
  ASSERT_TRUE(file.has_value());
  const auto bytes = (*file)->bytes();
  const auto same = [&] { return std::ranges::equal(bytes, std::as_bytes(std::span(content))); };
  EXPECT_TRUE(same());
  const auto maps = FileMappings::read();
  if (!maps.holds(bytes)) GTEST_SKIP() << "the system does not list mappings";
  maps.release(bytes.subspan(5, 50'000));
  EXPECT_TRUE(same());
  maps.release(bytes);
  EXPECT_TRUE(same());
}

// Dropping anonymous memory would read as zeros: 42 tells.
TEST(FileMappings, MemoryOfOtherKindsKeepsItsBytes) {
  std::vector<std::byte> memory(100'000, std::byte{42});
  const auto maps = FileMappings::read();
  EXPECT_FALSE(maps.holds(memory));
  maps.release(memory);
  maps.release({});
  EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte b) { return b == std::byte{42}; }));
}

}  // namespace
}  // namespace quern
