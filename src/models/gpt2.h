// GPT-2: learned positions, layer norm, plain feed-forward.
#pragma once

#include "models/language_model.h"

namespace quern {

Result<LanguageModel> build_gpt2(const Metadata& metadata, const WeightSource& weights,
                                 const ModelOptions& options);

}  // namespace quern
