// A file that appears under its name only when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"

namespace quern {

// What a file survives once it is in place.
enum class Durability : uint8_t {
  kPowerLoss,  // its bytes are on the disk
  kProcess,    // they may still be in the system's memory: for files that are easily made again
};

// Writes to a temporary file "TARGET.PID-N.part" beside the target; commit() renames it, so that a
// reader sees the old file or the whole new one, never a part.
// Without a commit the temporary file is removed and the target stays as it was. Movable.
// One thread only. Errors: kUnavailable and kResourceExhausted (disk full), naming the path.
class AtomicFile {
 public:
  // Errors: also where `path` names something that is no regular file.
  static Result<AtomicFile> create(const std::string& path);
  ~AtomicFile();
  // `other` is left without a file: its write() and commit() give kFailedPrecondition.
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Appends. Small pieces are gathered before they reach the system.
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view bytes) { return write(std::as_bytes(std::span(bytes))); }
  // Appends `count` zero bytes; none for a negative count.
  Result<void> write_zeros(int64_t count);
  // Bytes appended so far.
  int64_t size_bytes() const { return size_; }
  // At most once, and last. Errors: kFailedPrecondition when repeated, and after a write or a wait
  // for the disk that failed: how much of it was taken is unknown, so such a file can only be thrown
  // away.
  // kPowerLoss costs one or two waits for the disk, some milliseconds each.
  Result<void> commit(Durability durability = Durability::kPowerLoss);

 private:
  AtomicFile(std::string path, std::string temporary, int fd);
  // Hands pending bytes to the system.
  Result<void> flush();
  Result<void> write_through(std::span<const std::byte> bytes);

  std::string path_;
  std::string temporary_;
  int fd_;  // owned; -1 after commit() and in a moved-from object
  bool has_failed_ = false;
  int64_t size_ = 0;  // appended, pending bytes included
  std::vector<std::byte> pending_;
};

}  // namespace quern
