// Tests of the memory query.
#include "hw/host_memory.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(HostMemory, FieldsAreReadInBytes) {
  const HostMemory memory = parse_meminfo(
      "MemTotal:       24689764 kB\nMemFree:          100 kB\nMemAvailable:   23000000 kB\n");
  EXPECT_EQ(memory.total_bytes, int64_t{24689764} * 1024);
  EXPECT_EQ(memory.available_bytes, int64_t{23000000} * 1024);
}

TEST(HostMemory, MissingFieldsAreUnknown) {
  EXPECT_EQ(parse_meminfo("").total_bytes, 0);
  EXPECT_FALSE(parse_meminfo("MemTotal: 5 kB").available_bytes.has_value());
  EXPECT_EQ(parse_meminfo("MemTotal: 5 kB").total_bytes, 5 * 1024);
  EXPECT_FALSE(parse_meminfo("MemAvailable:\n").available_bytes.has_value());
  EXPECT_FALSE(parse_meminfo("MemAvailable: many kB\n").available_bytes.has_value());
  EXPECT_FALSE(parse_meminfo("MemAvailableX: 7 kB\n").available_bytes.has_value());
}

TEST(HostMemory, ThisMachineHasSome) {
  const HostMemory memory = query_host_memory();
  EXPECT_GT(memory.total_bytes, 0);
  EXPECT_LE(memory.available_bytes.value_or(0), memory.total_bytes);
}

}  // namespace
}  // namespace quern
