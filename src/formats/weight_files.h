// Weights from files of any format that Quern reads, as one source.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "quern/weight_source.h"

namespace quern {

// Opens GGUF and safetensors files, told apart by their first bytes. A name that two files hold is
// an error. Tensors are mapped as their readers do. Errors: those of the readers; kInvalidArgument.
Result<std::unique_ptr<WeightSource>> open_weight_files(std::span<const std::string> paths);

}  // namespace quern
