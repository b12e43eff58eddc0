// StarCoder2: layer norm, biases, GELU.
#pragma once

#include "models/language_model.h"

namespace quern {

Result<LanguageModel> build_starcoder2(const Metadata& metadata, const WeightSource& weights,
                                       const ModelOptions& options);

}  // namespace quern
