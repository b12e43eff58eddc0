// Tests of the memory query.
#include "hw/host_memory.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// The file counts in KiB.
TEST(HostMemory, FieldsAreReadInBytes) {
  const HostMemory memory = parse_meminfo(
      "MemTotal:       24689764 kB\nMemFree:          100 kB\nMemAvailable:   23000000 kB\n");
  EXPECT_EQ(memory.total_bytes, int64_t{24689764} * 1024);
  EXPECT_EQ(memory.available_bytes, int64_t{23000000} * 1024);
}

// Not 0 bytes free.
TEST(HostMemory, MissingFieldsAreUnknown) {
  EXPECT_EQ(parse_meminfo("").total_bytes, 0);
  EXPECT_FALSE(parse_meminfo("MemTotal: 5 kB").available_bytes.has_value());
  EXPECT_EQ(parse_meminfo("MemTotal: 5 kB").total_bytes, 5 * 1024);
  EXPECT_FALSE(parse_meminfo("MemAvailable:\n").available_bytes.has_value());
  EXPECT_FALSE(parse_meminfo("MemAvailable: many kB\n").available_bytes.has_value());
  EXPECT_FALSE(parse_meminfo("MemAvailableX: 7 kB\n").available_bytes.has_value());
}

// The file is text of another program: whatever it holds, the numbers are sane or absent.
TEST(HostMemory, HostileTextIsUnknown) {
  struct {
    const char* text;
    int64_t total;
  } rows[] = {
      {"MemTotal:\t12 kB", 12 * 1024},
      {"MemTotal:12", 12 * 1024},
      {"MemTotal: 12kB\n", 12 * 1024},
      {"MemTotal: 0 kB\n", 0},
      {"MemTotal: -5 kB\n", 0},
      {"MemTotal: +5 kB\n", 0},
      {"MemTotal: 99999999999999999999 kB\n", 0},
      {"MemTotal: 4503599627370496 kB\n", 0},  // 2^52: the product could overflow
      {"MemTotal: 4503599627370495 kB\n", int64_t{4503599627370495} * 1024},
      {"MemTotal 12 kB\n", 0},    // no colon
      {" MemTotal: 12 kB\n", 0},  // not at the start of its line
      {"HugeMemTotal: 12 kB\n", 0},
      {"\n\n\nMemTotal: 12 kB", 12 * 1024},
      {"MemTotal: x\nMemTotal: 12 kB\n", 0},  // the first one counts
      {"MemTotal: 12 kB\nMemTotal: 13 kB\n", 12 * 1024},
      {"MemTotal:", 0},
      {"MemTotal: \t ", 0},
  };
  for (const auto& row : rows)
    EXPECT_EQ(parse_meminfo(row.text).total_bytes, row.total) << row.text;
}

// Wherever the test runs.
TEST(HostMemory, ThisMachineHasSome) {
  const HostMemory memory = query_host_memory();
  EXPECT_GT(memory.total_bytes, 0);
  EXPECT_LE(memory.available_bytes.value_or(0), memory.total_bytes);
}

}  // namespace
}  // namespace quern
