// Tests of mapping: content, lifetime, hints at any range, errors.
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/temporary_folder.h"

namespace quern {
namespace {

// Without copying them.
TEST(MappedFile, HoldsTheBytesOfTheFile) {
  const std::string path = testing::TempDir() + "quern_mapped_file_test.bin";
  std::ofstream(path, std::ios::binary) << "quern";
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->bytes().size(), 5U);
  EXPECT_EQ(static_cast<char>((*file)->bytes()[4]), 'n');
  std::filesystem::remove(path);
}

// mmap refuses a length of 0.
TEST(MappedFile, EmptyFileIsEmpty) {
  const std::string path = testing::TempDir() + "quern_mapped_file_empty.bin";
  std::ofstream(path, std::ios::binary).flush();
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->bytes().empty());
  std::filesystem::remove(path);
}

// A model may be replaced while it runs.
// 10,000 bytes: the last lies on a page of its own.
TEST(MappedFile, OutlivesTheNameOfTheFile) {
  const test::TemporaryFolder folder("mapped_file");
  const std::string path = folder.file("model.bin");
  std::ofstream(path, std::ios::binary) << std::string(10'000, 'q');
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->path(), path);
  std::filesystem::remove(path);
  EXPECT_EQ(static_cast<char>((*file)->bytes()[9'999]), 'q');
}

// Hints may name any range; the bytes stay what they are.
// 20,000 bytes are not a multiple of a page, 251 no divisor of one: pages differ. SIZE_MAX as
// offset and as size would overflow a sum.
TEST(MappedFile, HintsAtAnyRangeKeepTheBytes) {
  const test::TemporaryFolder folder("mapped_file");
  const std::string path = folder.file("model.bin");
  std::string content;
  for (int i = 0; i < 20'000; ++i) content += static_cast<char>(i % 251);
  std::ofstream(path, std::ios::binary) << content;
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{19'999},
                              size_t{20'000}, SIZE_MAX}) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{8192}, SIZE_MAX}) {
      (*file)->advise(offset, size, false);
      (*file)->advise(offset, size, true);
    }
  }
  const auto bytes = (*file)->bytes();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), content);
}

// Not "not found".
TEST(MappedFile, WithoutPermissionItIsUnavailable) {
  if (::geteuid() == 0) GTEST_SKIP() << "This user may read every file.";
  const test::TemporaryFolder folder("mapped_file");
  const std::string path = folder.file("secret.bin");
  std::ofstream(path) << "x";
  std::filesystem::permissions(path, std::filesystem::perms::none);
  EXPECT_EQ(MappedFile::open(path).error().code, ErrorCode::kUnavailable);
}

// Users act on paths.
TEST(MappedFile, ErrorsNameThePath) {
  const auto missing = MappedFile::open("/nonexistent/quern.gguf");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("/nonexistent/quern.gguf"), std::string::npos);
  const auto folder = MappedFile::open("/tmp");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kUnavailable);
}

// Every write shows, also one that leaves the size; a copy is another file.
// Same size and, set back by hand, the same time of its bytes: only the time of the inode tells.
TEST(MappedFile, TheStampChangesWithTheFile) {
  const test::TemporaryFolder folder("mapped_stamp");
  const std::string path = folder.file("a"), copy = folder.file("b");
  std::ofstream(path) << "first";
  const std::string before = MappedFile::open(path).value()->stamp();
  EXPECT_EQ(MappedFile::open(path).value()->stamp(), before);
  std::filesystem::copy_file(path, copy);
  EXPECT_NE(MappedFile::open(copy).value()->stamp(), before);
  const auto time = std::filesystem::last_write_time(path);
  std::string after = before;
  // The clock of files moves in steps of some milliseconds.
  for (int i = 0; i < 100 && after == before; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::ofstream(path) << "other";
    std::filesystem::last_write_time(path, time);  // the other time of a file tells
    after = MappedFile::open(path).value()->stamp();
  }
  EXPECT_NE(after, before);
}

}  // namespace
}  // namespace quern
