// What the cpu backend compiles to: the graph and its plan. Any machine can load it.
#pragma once

#include <utility>

#include "backends/cpu/plan.h"
#include "quern/device.h"

namespace quern::cpu {

// Immutable once compiled; thread-safe.
class PlanArtifact final : public Artifact {
 public:
  PlanArtifact(Graph graph, Plan plan, Numerics numerics)
      : graph_(std::move(graph)), plan_(std::move(plan)), numerics_(numerics) {}
  const Graph& graph() const override { return graph_; }
  const MemoryPlan* memory_plan() const override { return &plan_.memory; }
  const Plan& plan() const { return plan_; }
  // What the results promise; steps choose their kernels by it.
  Numerics numerics() const { return numerics_; }

 private:
  Graph graph_;
  Plan plan_;
  Numerics numerics_;
};

}  // namespace quern::cpu
