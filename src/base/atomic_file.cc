// Temporary file, fsync, rename.
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/fail.h"

namespace quern {
namespace {

// Writers of model files append names and numbers of a few bytes; a system call each would
// dominate.
// 256 KiB: large enough that the cost of a call vanishes beside that of the copy.
constexpr size_t kPendingBytes = size_t{1} << 18;
// Names of temporary files to try; more than a few exist only when processes died while writing.
constexpr int kMaxAttempts = 100;

// The error of the system call that failed just now. A full disk has a code of its own: the caller
// can free space and try again.
tl::unexpected<Error> cannot(std::string_view verb, const std::string& path) {
  // A quota is a full disk to whoever writes under it.
  const bool is_full = errno == ENOSPC || errno == EDQUOT;
  return fail::with(is_full ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
                    "File '{}' cannot be {}: {}.", path, verb, std::strerror(errno));
}

// A part of what was written may be missing in the middle, or may never have reached the disk:
// nothing can make this file right.
tl::unexpected<Error> not_whole(const std::string& path) {
  return fail::precondition("File '{}' is not whole: a write of it failed before.", path);
}

// The rename is lasting only when the folder is on the disk too. Some file systems refuse to
// synchronise a folder, which is no reason to fail.
void sync_folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  // Read-only, as a folder cannot be opened for writing; fsync needs no more.
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

// Takes over a new, empty temporary file.
AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {
  pending_.reserve(kPendingBytes);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      // The old object then has nothing to close or to remove.
      fd_(std::exchange(other.fd_, -1)),
      has_failed_(other.has_failed_),
      size_(other.size_),
      pending_(std::move(other.pending_)) {}

// Without a commit nothing of the file stays.
AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  // A rename would replace a device or a pipe by a file; a folder fails only at the end.
  struct stat status {};
  // /dev/null and pipes are what command lines are given to throw output away.
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return fail::unavailable("'{}' exists and is not a regular file.", path);
  }
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    // Beside the target, since a rename works inside one file system only. The process id keeps two
    // processes apart, the number two writers of one process.
    std::string temporary = fmt::format("{}.{}-{}.part", path, ::getpid(), attempt);
    // Never takes over a file of somebody else. 0666 is cut by the umask, as for any new file.
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return AtomicFile(path, std::move(temporary), fd);
    // Any other error will be the same for the next name.
    if (errno != EEXIST) break;
  }
  return cannot("created", path);
}

// Hands bytes to the system, past what waits.
Result<void> AtomicFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    // The system may take a part of the bytes only.
    if (written < 0) {
      if (errno == EINTR) continue;
      // How many bytes reached the file is unknown from here on.
      has_failed_ = true;
      return cannot("written", path_);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

// What waits goes first: bytes keep their order.
Result<void> AtomicFile::flush() {
  QUERN_TRY(write_through(pending_));
  pending_.clear();
  return {};
}

Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
  if (fd_ < 0) return fail::precondition("File '{}' was committed; it takes no more.", path_);
  if (has_failed_) return not_whole(path_);
  // Counted before the write: a failed file is thrown away, and its size with it.
  size_ += static_cast<int64_t>(bytes.size());
  // Large pieces go straight to the system, behind what waits.
  if (pending_.size() + bytes.size() > kPendingBytes) QUERN_TRY(flush());
  if (bytes.size() > kPendingBytes) return write_through(bytes);
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  return {};
}

// In pieces, since the count may be larger than memory.
Result<void> AtomicFile::write_zeros(int64_t count) {
  static constexpr std::byte kZeros[256] = {};
  for (; count > 0; count -= 256) {
    QUERN_TRY(write(std::span(kZeros, static_cast<size_t>(std::min<int64_t>(count, 256)))));
  }
  return {};
}

// All bytes, then the rename: a reader sees the old file or the new one.
Result<void> AtomicFile::commit(Durability durability) {
  if (fd_ < 0) return fail::precondition("File '{}' was committed before.", path_);
  if (has_failed_) return not_whole(path_);
  QUERN_TRY(flush());
  const bool is_lasting = durability == Durability::kPowerLoss;
  // Before the rename: the other order could leave the name on an empty file after a power cut.
  if (is_lasting && ::fsync(fd_) != 0) {
    // The system reports a lost page once and may call the next fsync a success: no second try.
    has_failed_ = true;
    return cannot("flushed to the disk", path_);
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return cannot("put in place", path_);
  // From here on there is no temporary file: the destructor has nothing to remove.
  ::close(std::exchange(fd_, -1));
  // The bytes are safe already; this makes the name so.
  if (is_lasting) sync_folder_of(path_);
  return {};
}

}  // namespace quern
