#include "base/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/temporary_folder.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// An empty folder of the test's own.
class AtomicFileTest : public testing::Test {
 protected:
  std::string path() const { return folder_.file("target.bin"); }
  std::string content() const {
    std::ifstream stream(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  long num_files() const {
    return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
  }
  const test::TemporaryFolder folder_{"atomic_file"};
};

TEST_F(AtomicFileTest, AppearsWholeAtCommit) {
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file) << file.error().message;
  const std::string large(600'000, 'x');
  ASSERT_TRUE(file->write("ab"));
  ASSERT_TRUE(file->write_zeros(300));
  ASSERT_TRUE(file->write(large));
  ASSERT_TRUE(file->write("z"));
  EXPECT_EQ(file->size_bytes(), 600'303);
  EXPECT_FALSE(fs::exists(path()));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content(), "ab" + std::string(300, '\0') + large + "z");
  EXPECT_EQ(num_files(), 1);
  EXPECT_FALSE(file->write("late"));
  EXPECT_FALSE(file->commit());
}

TEST_F(AtomicFileTest, AppearsWithoutWaitingForTheDisk) {
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("quick"));
  ASSERT_TRUE(file->commit(Durability::kProcess));
  EXPECT_EQ(content(), "quick");
}

TEST_F(AtomicFileTest, WithoutCommitTheOldFileStays) {
  std::ofstream(path()) << "old";
  {
    auto file = AtomicFile::create(path());
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("new"));
    const AtomicFile moved = std::move(*file);
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(num_files(), 1);
}

TEST_F(AtomicFileTest, ErrorsNameThePath) {
  const auto missing = AtomicFile::create(folder_.file("none/x.bin"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(missing.error().message.find("none/x.bin"), std::string::npos);
  EXPECT_FALSE(AtomicFile::create(folder_.path()));
}

}  // namespace
}  // namespace quern
