// Devices from the command line: what they follow, and what is refused because they would not.
#include "cli/device_flags.h"

#include <gtest/gtest.h>

namespace quern::cli {
namespace {

// "" where the device opens.
std::string error_of(const std::string& name, const DeviceOptions& options,
                     std::string_view prefix = "--") {
  const BackendRegistry backends = register_backends();
  const auto device = open_device(**backends.find(name), options, prefix);
  const auto checked = check_device_options(backends, name, options, prefix);
  const std::string error = device ? "" : device.error().message;
  // Both ways say the same.
  EXPECT_EQ(checked ? "" : checked.error().message, error);
  return error;
}

// Nothing asked for, or what the device is anyway.
TEST(DeviceFlags, WhatADeviceFollowsIsTaken) {
  EXPECT_EQ(error_of("cpu", {}), "");
  EXPECT_EQ(error_of("cpu", {.num_threads = 2}), "");
  EXPECT_EQ(error_of("cpu", {.num_threads = 1, .isa = "scalar"}), "");
  EXPECT_EQ(error_of("reference", {}), "");
  EXPECT_EQ(error_of("reference", {.num_threads = 1}), "");
  EXPECT_EQ(error_of("reference", {.isa = "scalar"}), "");
}

// One thread, no levels.
TEST(DeviceFlags, WhatHasNoEffectIsRefused) {
  EXPECT_EQ(error_of("reference", {.num_threads = 3}),
            "--threads 3 has no effect on device reference, which always runs on 1 thread.");
  EXPECT_EQ(error_of("reference", {.isa = "avx2"}),
            "--isa avx2 has no effect on device reference, which has no instruction sets to choose "
            "from; it always runs as scalar.");
  EXPECT_EQ(error_of("reference", {.num_threads = 2}, "--against-"),
            "--against-threads 2 has no effect on device reference, which always runs on 1 "
            "thread.");
  EXPECT_EQ(error_of("reference", {.isa = "mmx"}, "--against-").substr(0, 33),
            "--against-isa mmx has no effect o");
}

// They come through unchanged.
TEST(DeviceFlags, ErrorsOfTheDeviceStay) {
  EXPECT_TRUE(error_of("cpu", {.isa = "mmx"}).starts_with("There is no instruction set 'mmx'"));
  const BackendRegistry backends = register_backends();
  const auto unknown = check_device_options(backends, "abacus", {.num_threads = 1});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("abacus"), std::string::npos) << unknown.error().message;
  // Nothing asked for: nothing is opened, and whoever opens it says what is wrong.
  EXPECT_TRUE(check_device_options(backends, "abacus", {}));
}

}  // namespace
}  // namespace quern::cli
