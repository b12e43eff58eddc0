// Memory of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace quern {

// In bytes. `available_bytes` is what can be taken without swapping, where the system tells.
struct HostMemory {
  int64_t total_bytes = 0;
  std::optional<int64_t> available_bytes;
};

// Asks the system each time.
HostMemory query_host_memory();
// From the text of Linux's /proc/meminfo; fields that it lacks stay 0 or absent.
HostMemory parse_meminfo(std::string_view text);

}  // namespace quern
