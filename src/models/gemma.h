// The Gemma families: Gemma 2 and Gemma 3 (text).
#pragma once

#include "models/language_model.h"

namespace quern {

Result<LanguageModel> build_gemma2(const Metadata& metadata, const WeightSource& weights,
                                   const ModelOptions& options);
Result<LanguageModel> build_gemma3(const Metadata& metadata, const WeightSource& weights,
                                   const ModelOptions& options);

}  // namespace quern
