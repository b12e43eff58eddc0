// The file: magic, key, number of entries; {id, offset, size} of each; their bytes, each at a
// multiple of 64. Numbers are 64 bits in the order of the machine, which wrote it for itself.
#include "backends/cpu/pack_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/atomic_file.h"
#include "base/checked_math.h"
#include "base/fail.h"

namespace quern::cpu {
namespace {

// The last digit is the version of the file, not of the packed layout, which is part of the key.
constexpr uint64_t kMagic = 0x314B434150524551;  // "QERPACK1"
constexpr int64_t kHeaderBytes = 24;
constexpr int64_t kEntryBytes = 24;
constexpr int64_t kAlignment = 64;

uint64_t number_at(std::span<const std::byte> bytes, int64_t offset) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

Result<void> write_numbers(AtomicFile& file, const std::array<uint64_t, 3>& numbers) {
  return file.write(std::as_bytes(std::span(numbers)));
}

}  // namespace

PackCache::PackCache(const std::string& folder, uint64_t key)
    : path_((std::filesystem::path(folder) / fmt::format("packed-{:016x}.bin", key)).string()),
      key_(key) {
  auto mapped = MappedFile::open(path_);
  if (!mapped) return;
  file_ = std::move(*mapped);
  read_entries(key);
}

// Believes nothing that does not lie in the file.
void PackCache::read_entries(uint64_t key) {
  const auto bytes = file_->bytes();
  const auto file_size = static_cast<int64_t>(bytes.size());
  if (file_size < kHeaderBytes || number_at(bytes, 0) != kMagic || number_at(bytes, 8) != key) {
    return;
  }
  const uint64_t count = number_at(bytes, 16);
  if (count > static_cast<uint64_t>((file_size - kHeaderBytes) / kEntryBytes)) return;
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t at = kHeaderBytes + static_cast<int64_t>(i) * kEntryBytes;
    const uint64_t offset = number_at(bytes, at + 8);
    const uint64_t size = number_at(bytes, at + 16);
    const auto limit = static_cast<uint64_t>(file_size);
    if (offset > limit || size > limit - offset || offset % kAlignment != 0) return;
    entries.push_back(
        {number_at(bytes, at), static_cast<int64_t>(offset), static_cast<int64_t>(size)});
  }
  entries_ = std::move(entries);
}

Buffer PackCache::find(uint64_t id, int64_t size) const {
  const auto entry = std::ranges::find(entries_, id, &Entry::id);
  if (entry == entries_.end() || entry->size != size) return {};
  return Buffer::wrap_host(
      file_->bytes().subspan(static_cast<size_t>(entry->offset), static_cast<size_t>(size)), file_);
}

Result<void> PackCache::save() {
  if (!is_on() || added_.empty()) return {};
  for (const Entry& entry : entries_) {
    const auto is_same = [&](const auto& added) { return added.first == entry.id; };
    if (std::ranges::none_of(added_, is_same)) {
      added_.emplace_back(entry.id, find(entry.id, entry.size));
    }
  }
  std::error_code ignored;  // creating the file says what is wrong
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path_));
  QUERN_TRY(write_numbers(file, {kMagic, key_, added_.size()}));
  int64_t at = kHeaderBytes + kEntryBytes * static_cast<int64_t>(added_.size());
  for (const auto& [id, packed] : added_) {
    at = round_up(at, kAlignment);
    const auto size = packed.size_bytes();
    QUERN_TRY(write_numbers(file, {id, static_cast<uint64_t>(at), static_cast<uint64_t>(size)}));
    at += size;
  }
  for (const auto& [id, packed] : added_) {
    QUERN_TRY(file.write_zeros(round_up(file.size_bytes(), kAlignment) - file.size_bytes()));
    QUERN_ASSIGN_OR_RETURN(const auto bytes, packed.host_view());
    QUERN_TRY(file.write(bytes));
  }
  added_.clear();
  return file.commit(Durability::kProcess);
}

}  // namespace quern::cpu
