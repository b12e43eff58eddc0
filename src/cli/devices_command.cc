// quern devices and quern ops: what this build and machine offer.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "quern/device.h"
#include "quern/op.h"

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

// One line an operation: id, how the backend serves it, the first line of its documentation.
Result<void> ops(const std::string& backend_name, bool is_json) {
  const BackendRegistry registry = register_backends();
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, registry.find(backend_name));
  auto list = nlohmann::ordered_json::array();
  for (const OpDef* op : builtin_ops().list()) {
    const Support support = backend->supports(*op);
    if (is_json) {
      list.push_back({{"id", op->id},
                      {"version", op->version},
                      {"effect", effect_name(op->effect)},
                      {"support", support_name(support.kind)},
                      {"doc", op->doc}});
    } else {
      fmt::print("{:<36} {:<12} {}\n", op->id, support_name(support.kind),
                 op->doc.substr(0, op->doc.find('\n')));
    }
  }
  if (is_json) fmt::print("{}\n", list.dump(1));
  return {};
}

}  // namespace

void set_up_devices(OptionSet& command, Action& action) {
  auto is_json = std::make_shared<bool>(false);
  command.add_flag("--json", *is_json, "List as JSON");
  action = [is_json] { return devices(*is_json); };
}

void set_up_ops(OptionSet& command, Action& action) {
  auto is_json = std::make_shared<bool>(false);
  auto backend = std::make_shared<std::string>("cpu");
  command.add_option("--backend", *backend, "Backend to ask").show_default();
  command.add_flag("--json", *is_json, "List as JSON");
  action = [is_json, backend] { return ops(*backend, *is_json); };
}

}  // namespace quern::cli
