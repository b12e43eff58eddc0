// A graph as steps over storages: which node runs when, with which entry, and where values live.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/op_table.h"
#include "passes/memory_plan.h"
#include "quern/device.h"
#include "quern/graph.h"

namespace quern::cpu {

// What this backend knows of a step of the memory plan.
struct PlannedStep {
  NodeId node = -1;
  const OpEntry* entry = nullptr;
  int32_t state = -1;  // index of the graph's state that it reads or writes
};

// Made once per graph, for all extents of its symbols. Immutable.
struct Plan {
  MemoryPlan memory;
  std::vector<PlannedStep> steps;  // those of `memory`, in its order
};

// Plans the memory of a verified graph whose nodes are legal. Nodes whose results nobody reads do
// not run. Without the pass plan_memory every value has memory of its own.
// Errors: a readable name that the graph does not have.
Result<Plan> make_plan(const Graph& graph, const CompileOptions& options);

}  // namespace quern::cpu
