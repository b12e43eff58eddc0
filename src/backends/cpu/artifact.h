// What the cpu backend compiles to: the graph and its plan. Any machine can load it.
#pragma once

#include "backends/cpu/plan.h"
#include "quern/device.h"

namespace quern::cpu {

// Immutable once compiled; thread-safe.
struct PlanArtifact final : Artifact {
  Graph graph;
  Plan plan;
};

}  // namespace quern::cpu
