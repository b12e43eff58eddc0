// Files when the system says no: limits on file size, folders without permission, many writers and
// readers at once. A target is old or whole at every moment, and no temporary file stays.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "support/temporary_folder.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// Files of this process may not pass `bytes` while this lives.
// Stands for a full disk, which a test cannot make: write() then fails with EFBIG.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);  // or the process would end
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit before_{};
  void (*old_handler_)(int) = nullptr;
};

class FilesUnderFailure : public testing::Test {
 protected:
  std::string path() const { return folder_.file("target.bin"); }
  std::string content() const {
    std::ifstream stream(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  long num_files() const {
    return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
  }
  void put_old() { std::ofstream(path()) << "old"; }

  const test::TemporaryFolder folder_{"files_under_failure"};
};

// Big pieces fail in write(), small ones when they are flushed by commit().
TEST_F(FilesUnderFailure, AFullDiskLeavesTheOldFile) {
  // 2^20 bytes pass the gathering and fail in write(); 2,000 stay gathered until commit().
  for (const bool is_big : {true, false}) {
    put_old();
    {
      // Below both sizes.
      const FileSizeLimit limit(1000);
      auto file = AtomicFile::create(path());
      ASSERT_TRUE(file) << file.error().message;
      const std::string bytes(is_big ? 1 << 20 : 2000, 'x');
      const auto written = file->write(bytes);
      EXPECT_EQ(written.has_value(), !is_big);
      const auto committed = file->commit();
      ASSERT_FALSE(committed);
      EXPECT_NE(committed.error().message.find(path()), std::string::npos);
      EXPECT_EQ(content(), "old");
      // What was lost cannot come back, even with room again.
      EXPECT_EQ(file->write(std::string_view("x")).error().message,
                "File '" + path() + "' is not whole: a write of it failed before.");
    }
    EXPECT_EQ(content(), "old");
    EXPECT_EQ(num_files(), 1);  // no .part
  }
}

// After room was made a new file can take the place of the failed one.
TEST_F(FilesUnderFailure, AFailedFileCanBeBegunAnew) {
  {
    auto failed = AtomicFile::create(path());
    ASSERT_TRUE(failed);
    ASSERT_TRUE(failed->write(std::string_view("0123456789")));
    // Below the ten bytes that wait.
    const FileSizeLimit limit(4);
    EXPECT_FALSE(failed->commit());
    EXPECT_EQ(num_files(), 1);  // the temporary one
  }
  EXPECT_EQ(num_files(), 0);
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(std::string_view("again")));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content(), "again");
  EXPECT_EQ(num_files(), 1);
}

// Between create and commit anything may happen.
// rename() cannot put a file in place of a folder that has something in it.
TEST_F(FilesUnderFailure, TheTargetMayBecomeAFolderMeanwhile) {
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(std::string_view("new")));
  fs::create_directory(path());
  std::ofstream(path() + "/inside") << "kept";
  const auto committed = file->commit();
  ASSERT_FALSE(committed);
  EXPECT_NE(committed.error().message.find("cannot be put in place"), std::string::npos)
      << committed.error().message;
  EXPECT_TRUE(fs::exists(path() + "/inside"));
}

// Before a byte is written.
TEST_F(FilesUnderFailure, FoldersAndPipesAreNoTargets) {
  const auto folder = AtomicFile::create(folder_.path());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kUnavailable);
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(AtomicFile::create(pipe).error().message,
            "'" + pipe + "' exists and is not a regular file.");
  EXPECT_EQ(MappedFile::open(folder_.path()).error().code, ErrorCode::kUnavailable);
  // Without a writer: opening it in the usual way would wait for one.
  EXPECT_EQ(MappedFile::open(pipe).error().code, ErrorCode::kUnavailable);
}

// They may still be writing.
TEST_F(FilesUnderFailure, LeftOversOfOtherProcessesAreNotTouched) {
  // The very name that this process would take first.
  const std::string left_over = path() + "." + std::to_string(::getpid()) + "-0.part";
  std::ofstream(left_over) << "somebody's";
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->write(std::string_view("mine")));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content(), "mine");
  std::ifstream stream(left_over);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "somebody's");
}

// Writers replace the target while readers look: a reader sees one writer's bytes, all of them.
TEST_F(FilesUnderFailure, ReadersSeeOneWholeVersion) {
  // Several pages: a reader of a half-written file would see bytes of two kinds or a short file.
  constexpr size_t kSize = 20'000;
  put_old();
  std::atomic<bool> is_done = false;
  std::atomic<int> num_mixed = 0, num_reads = 0;
  std::vector<std::jthread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!is_done) {
        const auto mapped = MappedFile::open(path());
        if (!mapped) continue;
        const auto bytes = (*mapped)->bytes();
        ++num_reads;
        // The old content is a legal answer at any time before the first commit.
        if (bytes.size() == 3) continue;  // "old"
        bool is_whole = bytes.size() == kSize;
        for (const std::byte b : bytes) is_whole = is_whole && b == bytes[0];
        if (!is_whole) ++num_mixed;
      }
    });
  }
  std::vector<std::jthread> writers;
  for (int w = 0; w < 3; ++w) {
    writers.emplace_back([this, w] {
      for (int round = 0; round < 30; ++round) {
        auto file = AtomicFile::create(path());
        if (!file) continue;  // more writers than names: not here
        const std::string part(kSize / 4, static_cast<char>('a' + w));
        for (int piece = 0; piece < 4; ++piece) EXPECT_TRUE(file->write(part));
        EXPECT_TRUE(file->commit(Durability::kProcess));
      }
    });
  }
  writers.clear();  // joins
  is_done = true;
  readers.clear();
  EXPECT_EQ(num_mixed, 0);
  EXPECT_GT(num_reads, 0);
  EXPECT_EQ(content().size(), kSize);
  EXPECT_EQ(num_files(), 1);
}

// The old object owns nothing.
TEST_F(FilesUnderFailure, MovedFilesCommitOnce) {
  auto file = AtomicFile::create(path());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(std::string_view("abc")));
  {
    AtomicFile moved(std::move(*file));
    EXPECT_EQ(moved.size_bytes(), 3);
    ASSERT_TRUE(moved.write(std::string_view("def")));
    ASSERT_TRUE(moved.commit());
    EXPECT_EQ(moved.commit().error().code, ErrorCode::kFailedPrecondition);
  }
  EXPECT_EQ(file->write(std::string_view("x")).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(content(), "abcdef");
}

// Padding of model files.
TEST_F(FilesUnderFailure, ZerosAreCounted) {
  // Around the 256 zeros that are written at a time, and none for a negative count.
  for (const int64_t count : {int64_t{-5}, int64_t{0}, int64_t{1}, int64_t{255}, int64_t{256},
                              int64_t{257}, int64_t{300'000}}) {
    auto file = AtomicFile::create(path());
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::string_view("a")));
    ASSERT_TRUE(file->write_zeros(count));
    ASSERT_TRUE(file->write(std::string_view("b")));
    const int64_t zeros = std::max<int64_t>(count, 0);
    EXPECT_EQ(file->size_bytes(), zeros + 2);
    ASSERT_TRUE(file->commit(Durability::kProcess));
    EXPECT_EQ(content(), "a" + std::string(static_cast<size_t>(zeros), '\0') + "b");
  }
}

}  // namespace
}  // namespace quern
