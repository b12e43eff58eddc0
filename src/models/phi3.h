// Phi-3: fused projections, sliding windows.
#pragma once

#include "models/language_model.h"

namespace quern {

Result<LanguageModel> build_phi3(const Metadata& metadata, const WeightSource& weights,
                                 const ModelOptions& options);

}  // namespace quern
