// A file mapped read-only into memory: its bytes without reading or copying it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "quern/error.h"

namespace quern {

// Held by shared_ptr, as tensors over the file keep it mapped; the last owner unmaps. A file that
// is cut short by another process while mapped raises SIGBUS at the access, as with any mapping.
// Thread-safe: all of it is read-only.
class MappedFile {
 public:
  // Maps the whole file; an empty one maps to no bytes.
  // Errors: kNotFound, kUnavailable (no permission, a directory), with the path in the message.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // The file's bytes, as long as this object lives.
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // Names the file and the state that it was opened in: device, inode, size, times of the last
  // change of its bytes and of anything about it. A file that was written to since, or replaced,
  // has another stamp.
  const std::string& stamp() const { return stamp_; }
  // Tells the system that the range is needed soon (true) or no longer (false). A hint: pages that
  // were given up are read again at the next access. Parts beyond the end are ignored.
  void advise(size_t offset, size_t size, bool is_needed) const;

 private:
  MappedFile(std::string path, std::string stamp, const std::byte* data, size_t size);
  std::string path_;
  std::string stamp_;
  const std::byte* data_;
  size_t size_;
};

}  // namespace quern
