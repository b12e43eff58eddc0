// Devices of nodes, then copies between them.
#include "passes/place.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/fail.h"
#include "base/glob.h"
#include "passes/graph_copier.h"
#include "quern/op.h"

namespace quern {
namespace {

// What a run binds on every device that reads it.
bool is_everywhere(const Node& node) {
  return node.op->id == "Input" || node.op->id == "graph.weight" || node.op->id == "graph.constant";
}

// The node's own wish, else the first pattern that fits its name, else the first target.
// Stars alone are special.
bool matches(std::string_view pattern, std::string_view name) {
  // Names have dots, brackets and slashes: only '*' may mean more than itself.
  return matches_glob(pattern, name, 0);
}

// Three sources, the most specific first: the manifest's node, the command line's pattern, the
// default.
const std::string& device_for(const Node& node, const PassOptions& options) {
  if (!node.device.empty()) return node.device;
  for (const auto& [pattern, target] : options.placement) {
    if (matches(pattern, node.name)) return target;
  }
  return options.targets.front().name;
}

// The name may come from a manifest or the command line; the error lists what is there.
Result<void> check_target(const Node& node, const std::string& device, const PassOptions& options) {
  if (std::ranges::find(options.targets, device, &Target::name) != options.targets.end()) return {};
  std::vector<std::string> names;
  for (const Target& target : options.targets) names.push_back(target.name);
  return fail::not_found("Node '{}' is placed on '{}'; the devices of this compilation are {}.",
                         node.name, device, fmt::join(names, ", "));
}

// A state lives in the memory of one device.
Result<void> check_state(const Node& node, const std::string& device,
                         std::map<std::string, std::string>& device_of_state) {
  if (node.op->find_attribute("state") == nullptr) return {};
  // Placing two layers of one key-value state on two devices would need a copy of the cache in each
  // run; two states can be declared instead.
  const std::string& state = node.attributes.text("state");
  const auto [known, is_new] = device_of_state.emplace(state, device);
  if (is_new || known->second == device) return {};
  return fail::invalid("Node '{}' on '{}' uses the state '{}', which is on '{}'.", node.name,
                       device, state, known->second);
}

// A pattern that fits nothing is a slip of the pen.
Result<void> check_patterns(const Graph& graph, const PassOptions& options) {
  for (const auto& [pattern, target] : options.placement) {
    const bool fits = std::ranges::any_of(graph.nodes(), [&](const Node& node) {
      // A pattern that fits weights only would have no effect and must not look accepted.
      return !is_everywhere(node) && matches(pattern, node.name);
    });
    if (!fits) {
      return fail::not_found("No node has a name like '{}', which is to be placed on '{}'.",
                             pattern, target);
    }
  }
  return {};
}

// The device of each node; empty for those that are everywhere.
Result<std::vector<std::string>> assign_devices(const Graph& graph, const PassOptions& options) {
  std::vector<std::string> devices;
  std::map<std::string, std::string> device_of_state;
  for (const Node& node : graph.nodes()) {
    if (is_everywhere(node)) {
      devices.emplace_back();
      continue;
    }
    const std::string& device = device_for(node, options);
    QUERN_TRY(check_target(node, device, options));
    QUERN_TRY(check_state(node, device, device_of_state));
    devices.push_back(device);
  }
  return devices;
}

// Copies nodes to their devices, with a copy of each value for each other device that reads it.
class Placer {
 public:
  Placer(const Graph& graph, const std::vector<std::string>& devices)
      : graph_(graph), devices_(devices), copier_(graph) {}

  Result<Graph> run() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      // No device: what is everywhere is bound, not run.
      if (devices_[i].empty()) {
        copier_.copy(node);
        continue;
      }
      Node placed = node;
      placed.device = devices_[i];
      std::vector<ValueId> inputs;
      for (const ValueId input : node.inputs) inputs.push_back(on_device(input, placed));
      // Emitted and not copied, as the device is part of the node.
      copier_.emit(placed, node.op->id, inputs, node.attributes);
    }
    return copier_.finish();
  }

 private:
  // The value where `reader` runs.
  ValueId on_device(ValueId value, const Node& reader) {
    if (value == kNoValue) return value;
    const std::string& made_on = devices_[static_cast<size_t>(graph_.value(value).producer)];
    // Same device or everywhere: no copy.
    if (made_on.empty() || made_on == reader.device) return copier_.mapped(value);
    const auto key = std::pair(value, reader.device);
    const auto known = copies_.find(key);
    // The first reader's copy serves all later readers on that device.
    if (known != copies_.end()) return known->second;
    // The copy's name tells value and target: "h.on_gpu".
    Node near = graph_.node(graph_.value(value).producer);
    near.name = graph_.value(value).name;
    near.device = reader.device;
    const ValueId copy =
        copier_.insert(near, "on_" + reader.device, "graph.copy", {{copier_.mapped(value)}},
                       {{"from", made_on}, {"to", reader.device}});
    copies_.emplace(key, copy);
    return copy;
  }

  const Graph& graph_;
  const std::vector<std::string>& devices_;
  GraphCopier copier_;
  std::map<std::pair<ValueId, std::string>, ValueId> copies_;
};

}  // namespace

// With one device, nodes without a wish are left as they are and those that named it lose the
// name: both compile to the same graph.
// Runs before the numbering of anything that depends on devices. Only the default device in use
// means that nothing has to be said about it in the graph.
Result<Graph> place(const Graph& graph, const PassOptions& options) {
  if (options.targets.empty()) return graph;
  QUERN_TRY(check_patterns(graph, options));
  QUERN_ASSIGN_OR_RETURN(std::vector<std::string> devices, assign_devices(graph, options));
  const std::set<std::string> used(devices.begin(), devices.end());
  const std::string& default_device = options.targets.front().name;
  const bool is_default_only = std::ranges::all_of(
      used, [&](const std::string& name) { return name.empty() || name == default_device; });
  if (!is_default_only) return Placer(graph, devices).run();
  const bool names_none =
      std::ranges::all_of(graph.nodes(), [](const Node& node) { return node.device.empty(); });
  if (names_none) return graph;
  GraphCopier copier(graph);
  for (const Node& node : graph.nodes()) {
    Node plain = node;
    plain.device.clear();
    copier.emit(plain, node.op->id, copier.mapped_inputs(node), node.attributes);
  }
  return copier.finish();
}

}  // namespace quern
