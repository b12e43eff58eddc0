// What was asked for is compared with what the device says of itself, so that no list of devices
// and their options has to be kept here.
#include "cli/device_flags.h"

#include "base/fail.h"

namespace quern::cli {

// The device knows best: a backend may ignore what it has no use for.
Result<std::unique_ptr<Device>> open_device(const Backend& backend, const DeviceOptions& options,
                                            std::string_view prefix) {
  QUERN_ASSIGN_OR_RETURN(auto device, backend.open(options));
  const Capabilities& found = device->capabilities();
  if (options.num_threads > 0 && options.num_threads != found.num_threads) {
    return fail::invalid(
        "{}threads {} has no effect on device {}, which always runs on {} thread{}.", prefix,
        options.num_threads, backend.name(), found.num_threads, found.num_threads == 1 ? "" : "s");
  }
  if (!options.isa.empty() && options.isa != found.arch) {
    return fail::invalid(
        "{}isa {} has no effect on device {}, which has no instruction sets to choose from; it "
        "always runs as {}.",
        prefix, options.isa, backend.name(), found.arch);
  }
  return device;
}

// A device that is opened for a moment costs its threads at most.
Result<void> check_device_options(const BackendRegistry& backends, const std::string& device,
                                  const DeviceOptions& options, std::string_view prefix) {
  if (options.num_threads == 0 && options.isa.empty()) return {};
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, backends.find(device));
  QUERN_ASSIGN_OR_RETURN(const auto opened, open_device(*backend, options, prefix));
  return {};
}

}  // namespace quern::cli
