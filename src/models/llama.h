// The llama family: Llama 2 and 3, Mistral, TinyLlama, SmolLM2.
#pragma once

#include "models/language_model.h"

namespace quern {

Result<LanguageModel> build_llama(const Metadata& metadata, const WeightSource& weights,
                                  const ModelOptions& options);

}  // namespace quern
