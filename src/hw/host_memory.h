// Memory of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace quern {

// In bytes. `available_bytes` is what can be taken without swapping, where the system tells; it
// changes at any time. A plain value.
struct HostMemory {
  int64_t total_bytes = 0;
  std::optional<int64_t> available_bytes;
};

// Asks the system each time: /proc/meminfo, or POSIX for the total where that file is absent.
// Thread-safe.
HostMemory query_host_memory();
// From the text of Linux's /proc/meminfo, whose numbers are in units of 1,024 bytes. Fields that
// the text lacks, or that are no number, stay 0 or absent: the text is not trusted.
HostMemory parse_meminfo(std::string_view text);

}  // namespace quern
