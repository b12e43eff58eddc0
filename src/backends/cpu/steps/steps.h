// Makers of steps, one per operation family; the operation table lists who uses which.
#pragma once

#include "backends/cpu/step.h"

namespace quern::cpu {

// Runs the reference kernel of the operation on the calling thread.
Result<std::unique_ptr<Step>> make_reference(const StepRequest& request);

}  // namespace quern::cpu
