// Packed weights in a file: the next load of the same weights maps it instead of packing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "quern/buffer.h"

namespace quern::cpu {

// One file for one set of weights, packed for one instruction set. A file that is absent, damaged
// or of another version is as good as none: everything is packed and the file written anew.
// Damage of the packed numbers themselves does not show. One thread only.
class PackCache {
 public:
  // No cache: finds nothing and keeps nothing.
  PackCache() = default;
  // The file of `folder` for `key`, a hash of all that the packed bytes depend on.
  PackCache(const std::string& folder, uint64_t key);

  bool is_on() const { return !path_.empty(); }
  // The `size` bytes kept for entry `id`; an empty buffer where the file does not have them. They
  // stay mapped as long as the buffer lives.
  Buffer find(uint64_t id, int64_t size) const;
  // An entry that find() did not have.
  void add(uint64_t id, Buffer packed) { added_.emplace_back(id, std::move(packed)); }
  // Writes the file, with the entries that were added and those that it had, if any were added.
  // Errors: of writing files, naming the path.
  Result<void> save();

 private:
  struct Entry {
    uint64_t id;
    int64_t offset;  // in the file
    int64_t size;
  };
  void read_entries(uint64_t key);

  std::string path_;
  uint64_t key_ = 0;
  std::shared_ptr<const MappedFile> file_;
  std::vector<Entry> entries_;
  std::vector<std::pair<uint64_t, Buffer>> added_;
};

}  // namespace quern::cpu
