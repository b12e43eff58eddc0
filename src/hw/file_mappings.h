// Which memory of this process is a file mapped read-only, and giving its pages back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace quern {

// The private read-only file mappings of the process when the object was made. Their pages can be
// dropped at any time, since the system reads the file again at the next access. A plain value.
class FileMappings {
 public:
  // From /proc/self/maps; none where the system has no such file. Thread-safe.
  static FileMappings read();
  // From the text of such a file. Lines that are not understood count as memory of other kinds.
  static FileMappings parse(std::string_view maps);

  // Whether all bytes lie in one of the mappings.
  bool holds(std::span<const std::byte> bytes) const;
  // Drops the whole pages of `bytes` from memory where holds(bytes), else does nothing. The bytes
  // stay valid. The mapping must still exist.
  void release(std::span<const std::byte> bytes) const;

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
  };
  std::vector<Range> ranges_;
};

}  // namespace quern
