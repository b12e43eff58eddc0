// Rules for memory plans as a backend would have them: reshapes are views, quantised activations
// and weights of products have a packed form.
#pragma once

#include "passes/memory_plan.h"
#include "quern/op.h"

namespace quern::test {

inline NodeMemory viewing_rules(const Graph& graph, NodeId id) {
  const std::string& op = graph.node(id).op->id;
  NodeMemory memory;
  if (op == "Input" || op == "graph.weight") memory.kind = NodeMemory::Kind::kNone;
  if (op == "shape.reshape") memory.kind = NodeMemory::Kind::kView;
  return memory;
}

// projection.linear reads the packed form of quant.dynamic, and packs its weight at load.
inline NodeMemory packing_rules(const Graph& graph, NodeId id) {
  NodeMemory memory = viewing_rules(graph, id);
  const std::string& op = graph.node(id).op->id;
  memory.has_packed_form = op == "quant.dynamic";
  if (op == "projection.linear") {
    memory.packed_ports = {0, 3};
    memory.loaded_ports = {1};
  }
  return memory;
}

}  // namespace quern::test
