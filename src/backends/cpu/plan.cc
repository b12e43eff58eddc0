// The rules of this backend for the memory planner, and the entries of the steps it makes.
#include "backends/cpu/plan.h"

#include <algorithm>

#include "passes/pipeline.h"
#include "quern/op.h"

namespace quern::cpu {
namespace {

NodeMemory memory_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpEntry* entry = find_entry(*node.op);
  NodeMemory memory;
  if (entry == nullptr || entry->kind == Support::Kind::kGraphOnly) {
    memory.kind = NodeMemory::Kind::kNone;
    return memory;
  }
  if (entry->is_view) memory.kind = NodeMemory::Kind::kView;
  memory.has_packed_form = entry->can_pack != nullptr && entry->can_pack(graph, node);
  for (const int port : {entry->packed_input, entry->packed_scale}) {
    if (port >= 0) memory.packed_ports.push_back(port);
  }
  for (const int port : {entry->packed_weight, entry->second_packed_weight}) {
    if (port >= 0) memory.loaded_ports.push_back(port);
  }
  return memory;
}

int64_t packed_bytes_of(const Node& node, std::span<const Shape> outputs) {
  const OpEntry* entry = find_entry(*node.op);
  return entry == nullptr || entry->packed_bytes == nullptr ? 0
                                                            : entry->packed_bytes(node, outputs);
}

int32_t state_of(const Graph& graph, const Node& node) {
  if (node.op->find_attribute("state") == nullptr) return -1;
  const StateDecl* state = graph.find_state(node.attributes.text("state"));
  return state == nullptr ? -1 : static_cast<int32_t>(state - graph.states().data());
}

}  // namespace

Result<Plan> make_plan(const Graph& graph, const CompileOptions& options) {
  Plan plan;
  const MemoryRules rules{.of_node = memory_of,
                          .packed_bytes = packed_bytes_of,
                          .reuses = is_pass_on(options.passes, kPlanMemory)};
  QUERN_ASSIGN_OR_RETURN(plan.memory, plan_memory(graph, options.readable, rules));
  for (const MemoryStep& step : plan.memory.steps) {
    const Node& node = graph.node(step.node);
    plan.steps.push_back({step.node, find_entry(*node.op), state_of(graph, node)});
  }
  return plan;
}

}  // namespace quern::cpu
