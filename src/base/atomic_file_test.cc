// Tests that a target is old or whole, that nothing is left behind, and that errors name the path.
#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

// Nothing under the name before.
// 600,000 bytes are more than what is gathered (256 KiB), so that both ways of writing meet; 2 +
// 300 + 600,000 + 1 bytes. After the commit nothing more is taken.
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

// For files that are made again easily.
TEST_F(AtomicFileTest, AppearsWithoutWaitingForTheDisk) {
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("quick"));
  ASSERT_TRUE(file->commit(Durability::kProcess));
  EXPECT_EQ(content(), "quick");
}

// An error on the way loses nothing.
// The file is moved first: the object that was moved from must remove nothing.
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

// No bytes are content, too.
// A negative count of zeros is none.
TEST_F(AtomicFileTest, AnEmptyFileIsAFile) {
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(""));
  ASSERT_TRUE(file->write_zeros(0));
  ASSERT_TRUE(file->write_zeros(-5));
  EXPECT_EQ(file->size_bytes(), 0);
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::exists(path()));
  EXPECT_EQ(content(), "");
}

// Pieces around the size that is gathered before it reaches the system.
TEST_F(AtomicFileTest, PiecesOfAnySizeKeepTheirOrder) {
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file);
  std::string expected;
  char letter = 'a';
  // One below, at and above 2^18, and one above twice that, between pieces of a byte: a piece that
  // overtook gathered ones would break the order of the letters.
  for (const size_t size : {1U, 262'143U, 1U, 1U, 262'144U, 262'145U, 3U, 524'289U, 0U, 2U}) {
    const std::string piece(size, letter++);
    ASSERT_TRUE(file->write(piece));
    expected += piece;
    EXPECT_EQ(file->size_bytes(), static_cast<int64_t>(expected.size()));
  }
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(content() == expected);
}

// And neither mixes into the other.
// Two temporary names of one process: the number in the name tells them apart.
TEST_F(AtomicFileTest, TheLastOfTwoWritersWins) {
  auto first = AtomicFile::create(path());
  auto second = AtomicFile::create(path());
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->write("first"));
  ASSERT_TRUE(second->write("second"));
  ASSERT_TRUE(second->commit());
  EXPECT_EQ(content(), "second");
  ASSERT_TRUE(first->commit());
  EXPECT_EQ(content(), "first");
  EXPECT_EQ(num_files(), 1);
}

// Later calls are mistakes of the program.
TEST_F(AtomicFileTest, ACommittedFileSaysSo) {
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit());
  const auto late = file->write("late");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(late.error().message, "File '" + path() + "' was committed; it takes no more.");
  const auto again = file->commit();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "File '" + path() + "' was committed before.");
}

// At the rename.
// The open temporary file still takes bytes; only the rename can notice.
TEST_F(AtomicFileTest, AFolderThatVanishedIsAnError) {
  const std::string inner = folder_.file("inner");
  fs::create_directory(inner);
  auto file = AtomicFile::create(inner + "/target.bin");
  ASSERT_TRUE(file);
  fs::remove_all(inner);
  const auto result = file->commit();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(result.error().message.find("inner/target.bin' cannot be put in place"),
            std::string::npos)
      << result.error().message;
}

// Number of the open temporary file, or -1.
int descriptor_of_part() {
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const fs::path target = fs::read_symlink(entry.path(), error);
    if (!error && target.extension() == ".part") return std::stoi(entry.path().filename());
  }
  return -1;
}

// After a failed fsync the system may call the next one a success, although pages were lost.
// A pipe in place of the file cannot be synchronised; then the file comes back.
TEST_F(AtomicFileTest, AFailedFlushToTheDiskIsFinal) {
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file);
  const int fd = descriptor_of_part();
  if (fd < 0) GTEST_SKIP() << "Skipped: /proc does not tell the open files.";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int kept = ::dup(fd);
  ASSERT_EQ(::dup2(ends[1], fd), fd);
  const auto first = file->commit();
  ASSERT_EQ(::dup2(kept, fd), fd);
  for (const int open : {kept, ends[0], ends[1]}) ::close(open);
  ASSERT_FALSE(first);
  EXPECT_TRUE(first.error().message.starts_with("File '" + path() + "' cannot be flushed to the"))
      << first.error().message;
  for (const Durability durability : {Durability::kPowerLoss, Durability::kProcess}) {
    const auto second = file->commit(durability);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ(second.error().message,
              "File '" + path() + "' is not whole: a write of it failed before.");
  }
  EXPECT_FALSE(file->write("more"));
  EXPECT_FALSE(fs::exists(path()));
}

// A rename would replace /dev/null.
// /dev/full can be opened for writing, so that opening alone would not refuse it.
TEST_F(AtomicFileTest, DevicesAreRefused) {
  const auto device = AtomicFile::create("/dev/full");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "'/dev/full' exists and is not a regular file.");
}

// Users act on paths.
TEST_F(AtomicFileTest, ErrorsNameThePath) {
  // A folder that does not exist, and a folder in place of a file.
  const auto missing = AtomicFile::create(folder_.file("none/x.bin"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(missing.error().message.find("none/x.bin"), std::string::npos);
  EXPECT_FALSE(AtomicFile::create(folder_.path()));
}

}  // namespace
}  // namespace quern
