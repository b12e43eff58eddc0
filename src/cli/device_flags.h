// Devices as the command line asks for them: --device, --threads, --isa.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quern/device.h"

namespace quern::cli {

// Opens a device of `backend`. An option that the device does not follow is an error and not
// silence: a thread count that is not its own, an instruction set that it does not run as.
// `prefix` begins the names of the options in errors: "--", or "--against-".
// Errors: kInvalidArgument for such an option; those of Backend::open().
Result<std::unique_ptr<Device>> open_device(const Backend& backend, const DeviceOptions& options,
                                            std::string_view prefix = "--");

// The same check before the work, for commands whose device another layer opens later. Opens
// nothing where the options ask for nothing.
Result<void> check_device_options(const BackendRegistry& backends, const std::string& device,
                                  const DeviceOptions& options, std::string_view prefix = "--");

}  // namespace quern::cli
