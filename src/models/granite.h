// Granite: a Llama with four multipliers.
#pragma once

#include "models/language_model.h"

namespace quern {

Result<LanguageModel> build_granite(const Metadata& metadata, const WeightSource& weights,
                                    const ModelOptions& options);

}  // namespace quern
