// Reads /proc/self/maps: "BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH" a line.
#include "hw/file_mappings.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace quern {
namespace {

// The next word of the line, which loses it.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

std::optional<uint64_t> parse_number(std::string_view text, int base) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

}  // namespace

FileMappings FileMappings::parse(std::string_view maps) {
  FileMappings found;
  while (!maps.empty()) {
    std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const std::string_view addresses = take_word(line);
    const std::string_view permissions = take_word(line);
    take_word(line);  // offset
    take_word(line);  // device
    const auto inode = parse_number(take_word(line), 10);
    const size_t dash = addresses.find('-');
    // Writable and shared mappings may hold what is nowhere else; inode 0 is memory without a file.
    if (permissions != "r--p" || inode.value_or(0) == 0 || dash == std::string_view::npos) continue;
    const auto begin = parse_number(addresses.substr(0, dash), 16);
    const auto end = parse_number(addresses.substr(dash + 1), 16);
    if (begin && end && *begin < *end) found.ranges_.push_back({*begin, *end});
  }
  return found;
}

FileMappings FileMappings::read() {
  std::ifstream file("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse(text);
}

bool FileMappings::holds(std::span<const std::byte> bytes) const {
  const auto begin = reinterpret_cast<uint64_t>(bytes.data());
  return std::ranges::any_of(ranges_, [&](const Range& range) {
    // A difference and not begin + size, which could wrap.
    return range.begin <= begin && begin <= range.end && bytes.size() <= range.end - begin;
  });
}

void FileMappings::release(std::span<const std::byte> bytes) const {
  if (bytes.empty() || !holds(bytes)) return;
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  // Inwards: a page that `bytes` shares with its neighbours stays.
  const auto begin = (reinterpret_cast<uint64_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uint64_t>(bytes.data() + bytes.size()) / page * page;
  // A hint: nothing depends on its success.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace quern
