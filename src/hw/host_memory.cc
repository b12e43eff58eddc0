// Reads /proc/meminfo, or asks POSIX where there is none.
#include "hw/host_memory.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace quern {
namespace {

// The number of kB on the line "NAME:  N kB", in bytes.
std::optional<int64_t> find_field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    // "MemTotal" must not find "MemTotalSomething".
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    line.remove_prefix(name.size() + 1);
    const size_t digits = line.find_first_not_of(" \t");
    if (digits == std::string_view::npos) return std::nullopt;
    int64_t kilobytes = 0;
    const auto parsed = std::from_chars(line.data() + digits, line.data() + line.size(), kilobytes);
    // Below 2^52 kB the product fits 64 bits.
    const bool is_valid =
        parsed.ec == std::errc() && kilobytes >= 0 && kilobytes < (int64_t{1} << 52);
    return is_valid ? std::optional(kilobytes * 1024) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

HostMemory parse_meminfo(std::string_view text) {
  return {find_field(text, "MemTotal").value_or(0), find_field(text, "MemAvailable")};
}

HostMemory query_host_memory() {
  std::ifstream file("/proc/meminfo");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  HostMemory memory = parse_meminfo(text);
  // No /proc: a container without it, or another system.
  if (memory.total_bytes == 0) {
    memory.total_bytes = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  }
  return memory;
}

}  // namespace quern
