// A loaded plan: steps with their weights, bound to the sizes of each run.
#pragma once

#include <memory>

#include "backends/cpu/artifact.h"
#include "backends/cpu/machine.h"

namespace quern::cpu {

// Errors: those of weights and of steps that cannot be made, with the node's name.
Result<std::unique_ptr<Executable>> make_executable(const PlanArtifact& artifact,
                                                    std::shared_ptr<Machine> machine,
                                                    const WeightSource* weights,
                                                    const Progress& progress);

}  // namespace quern::cpu
