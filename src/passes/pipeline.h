// The passes and the order they run in: the one list of them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/device.h"
#include "quern/graph.h"

namespace quern {

// A device that nodes may be placed on. Borrowed; all pointers are set.
struct Target {
  std::string name;  // as in Node::device
  const Backend* backend = nullptr;
  const Capabilities* capabilities = nullptr;
};

// What passes need to know besides the graph. A plain value.
// Borrowed for the length of a pass; PassOptions{} compiles for no device and keeps all bits.
struct PassOptions {
  // Values that must survive with their names, besides the outputs.
  std::vector<std::string> readable = {};
  // Rewrites that change bits need kFast.
  Numerics numerics = Numerics::kStrict;
  // What may become one node.
  FusionCaps fusions = {};
  // The devices there are, the default first. Without any, nodes are neither placed nor lowered.
  std::vector<Target> targets = {};
  // Patterns of node names ('*' stands for any text) and the targets they go to, in order: the
  // first that matches wins.
  std::vector<std::pair<std::string, std::string>> placement = {};

  // Whether `readable` names an output of the node.
  bool is_readable(const Graph& graph, const Node& node) const;
};

// A pass keeps no state between calls, so that compilations may run on several threads at once.
// A rewrite: a free function from graph to graph. It may assume a verified graph and must give one.
struct Pass {
  std::string_view name;
  Result<Graph> (*run)(const Graph& graph, const PassOptions& options);
  // Why it cannot be switched off; empty where it can.
  // A clause that ends the message "The pass '...' cannot be switched off: ".
  std::string_view why_required = {};
};

// The passes of every compilation, in order.
std::span<const Pass> default_pipeline();

// The passes of `pipeline` that the selection leaves, in its order.
// Errors: a name that is no pass (with those there are), a required pass switched off.
Result<std::vector<Pass>> select_passes(std::span<const Pass> pipeline,
                                        const PassSelection& selection);

// The memory planner runs with the backend, after the passes; it can be switched off by this name
// like one of them.
inline constexpr std::string_view kPlanMemory = "plan_memory";

// Whether a selection leaves an optional pass in.
// Names are not checked here; select_passes() does that.
bool is_pass_on(const PassSelection& selection, std::string_view name);

// Runs the passes; in debug builds the verifier runs after each. Tells `observer`, where there is
// one, of each. Errors name the pass.
Result<Graph> run_passes(const Graph& graph, std::span<const Pass> passes,
                         const PassOptions& options, const PassObserver& observer = {});

}  // namespace quern
