// POSIX file mapping.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.h"

namespace quern {
namespace {

// Closes the descriptor at the end of the block; the mapping stays valid without it.
struct FileDescriptor {
  int fd;
  ~FileDescriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string stamp_of(const struct stat& status) {
  const auto time = [](const struct timespec& t) {
    return fmt::format("{}.{:09}", t.tv_sec, t.tv_nsec);
  };
  // The time of the last change of the inode is there because a program can set the time of the
  // bytes back, as archives do, but not this one.
  return fmt::format("{}:{}:{}:{}:{}", status.st_dev, status.st_ino, status.st_size,
                     time(status.st_mtim), time(status.st_ctim));
}

}  // namespace

MappedFile::MappedFile(std::string path, std::string stamp, const std::byte* data, size_t size)
    : path_(std::move(path)), stamp_(std::move(stamp)), data_(data), size_(size) {}

// The mapping ends with the last owner of the object; whoever holds a view holds that, too.
MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_);
}

// Maps the whole file for reading. Pages are read when they are touched.
Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // Children of a host program must not inherit model files. A named pipe would wait for a writer.
  const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) {
    const auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable;
    return fail::with(code, "File '{}' cannot be opened: {}.", path, std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) {
    return fail::unavailable("File '{}' cannot be examined: {}.", path, std::strerror(errno));
  }
  // Pipes and devices have no size to map; folders open but cannot be mapped.
  if (!S_ISREG(status.st_mode)) {
    return fail::unavailable("'{}' is not a regular file.", path);
  }
  const auto size = static_cast<size_t>(status.st_size);
  // mmap refuses a length of 0.
  if (size == 0) {
    return std::shared_ptr<const MappedFile>(new MappedFile(path, stamp_of(status), nullptr, 0));
  }
  // Read-only, so nothing is ever copied; pages are shared with the system's cache.
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) {
    return fail::unavailable("File '{}' cannot be mapped ({} bytes): {}.", path, size,
                             std::strerror(errno));
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, stamp_of(status), static_cast<const std::byte*>(data), size));
}

// Only a hint: what the system makes of it changes no byte.
void MappedFile::advise(size_t offset, size_t size, bool is_needed) const {
  if (size_ == 0 || offset >= size_) return;
  // madvise takes whole pages: start at the page that holds `offset`.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t start = offset / page * page;
  // From the page start to the end of the range, cut at the end of the file.
  const size_t length = std::min(size_ - offset, size) + (offset - start);
  // MADV_DONTNEED drops the pages from this process; a clean page of a file is read again when
  // touched.
  ::madvise(const_cast<std::byte*>(data_) + start, length,
            is_needed ? MADV_WILLNEED : MADV_DONTNEED);
}

}  // namespace quern
