// Where a compiled graph runs, why, and what it costs: the data behind `quern explain`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/memory_plan.h"
#include "passes/node_cost.h"
#include "quern/device.h"

namespace quern {

// One node that runs.
struct ExplainedNode {
  // As in the graph that runs.
  std::string name;
  std::string op;
  std::string group;        // the name with its numbers left out: one group for all layers
  std::string_view family;  // "products", "attention", ...
  // Where, with which kernel, and why that one.
  std::string device;
  std::string kernel;
  std::string reason;
  // For one run.
  NodeCost cost;
  std::string_view bound;   // what limits it: "memory", "arithmetic" or "dispatch"
  double roof_seconds = 0;  // traffic or arithmetic at the device's limits, whichever is longer
  double predicted_seconds = 0;  // that and the cost of starting a node
  double measured_seconds = -1;  // per run; negative: not measured

  // Time that was measured, or predicted where it was not.
  double seconds() const { return measured_seconds < 0 ? predicted_seconds : measured_seconds; }
  // How near the node comes to the limits of the device, 0 to 1.
  double roof_share() const { return seconds() > 0 ? roof_seconds / seconds() : 0; }
};

// Nodes and their sums.
struct Explanation {
  std::vector<ExplainedNode> nodes;  // in the order they run
  DeviceRoof roof;                   // zeros where the device cannot tell
  // Of all nodes that run.
  NodeCost total;
  double roof_seconds = 0;
  double predicted_seconds = 0;
  double measured_seconds = -1;     // sum over nodes; negative: not measured
  std::optional<PlanSizes> memory;  // where the backend plans it
};

// `measured` holds seconds per run by node of the artifact's graph, negative where a node did not
// run; empty if nothing was measured.
// `measured`, where not empty, has an entry for each node of the graph, run or not.
// Errors: a symbol without a value, sizes past the limits.
Result<Explanation> explain(const Artifact& artifact, const Backend& backend,
                            const Capabilities& capabilities, const DeviceRoof& roof,
                            const CostContext& context, std::span<const double> measured);

// All layers of a model then add up to one row of a report.
// "blk.12.ffn_down" is of the group "blk.*.ffn_down".
std::string group_of(std::string_view node_name);
// The kind of work of an operation, for sums.
std::string_view family_of(const OpDef& op);

}  // namespace quern
