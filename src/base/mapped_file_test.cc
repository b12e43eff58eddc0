#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace quern {
namespace {

TEST(MappedFile, HoldsTheBytesOfTheFile) {
  const std::string path = testing::TempDir() + "quern_mapped_file_test.bin";
  std::ofstream(path, std::ios::binary) << "quern";
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->bytes().size(), 5U);
  EXPECT_EQ(static_cast<char>((*file)->bytes()[4]), 'n');
  std::filesystem::remove(path);
}

TEST(MappedFile, EmptyFileIsEmpty) {
  const std::string path = testing::TempDir() + "quern_mapped_file_empty.bin";
  std::ofstream(path, std::ios::binary).flush();
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->bytes().empty());
  std::filesystem::remove(path);
}

TEST(MappedFile, ErrorsNameThePath) {
  const auto missing = MappedFile::open("/nonexistent/quern.gguf");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("/nonexistent/quern.gguf"), std::string::npos);
  const auto folder = MappedFile::open("/tmp");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace quern
