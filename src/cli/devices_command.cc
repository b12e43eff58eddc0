// quern devices: what this build and machine offer.
// Each backend is asked in turn; one that fails does not hide the others.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "quern/device.h"

namespace quern::cli {
namespace {

// A device that cannot be opened is listed with the reason.
nlohmann::ordered_json device_json(const Backend& backend, const DeviceDescription& description) {
  nlohmann::ordered_json json = {{"backend", backend.name()},
                                 {"device", description.name},
                                 {"description", description.description}};
  const auto device = backend.open({});
  if (!device) {
    json["error"] = device.error().message;
    return json;
  }
  const Capabilities& caps = (*device)->capabilities();
  const DeviceCapacity capacity = (*device)->capacity();
  json["arch"] = caps.arch;
  json["threads"] = caps.num_threads;
  json["f64"] = caps.has_f64;
  json["total_bytes"] = capacity.total_bytes;
  if (capacity.free_bytes) json["free_bytes"] = *capacity.free_bytes;
  return json;
}

// Backends that cannot open a device say why, in the list.
Result<void> devices(bool is_json) {
  auto list = nlohmann::ordered_json::array();
  const BackendRegistry registry = register_backends();
  for (const Backend* backend : registry.list()) {
    QUERN_ASSIGN_OR_RETURN(const auto found, backend->devices());
    for (const DeviceDescription& description : found) {
      list.push_back(device_json(*backend, description));
    }
  }
  if (is_json) {
    fmt::print("{}\n", list.dump(1));
    return {};
  }
  for (const auto& device : list) {
    fmt::print("{:<12} {}\n", device["device"].get<std::string>(),
               device["description"].get<std::string>());
    if (device.contains("error")) {
      fmt::print("{:<12} cannot be opened: {}\n", "", device["error"].get<std::string>());
    } else {
      fmt::print("{:<12} {}, {} threads, {:.1f} GiB memory\n", "",
                 device["arch"].get<std::string>(), device["threads"].get<int>(),
                 device["total_bytes"].get<double>() / (1 << 30));
    }
  }
  return {};
}

}  // namespace

// No options but the form of the output.
void set_up_devices(OptionSet& command, Action& action) {
  auto is_json = std::make_shared<bool>(false);
  command.add_flag("--json", *is_json, "List as JSON");
  action = [is_json] { return devices(*is_json); };
}

}  // namespace quern::cli
