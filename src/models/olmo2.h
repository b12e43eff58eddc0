// OLMo 2 and OLMo 3: norms behind the branches.
#pragma once

#include "models/language_model.h"

namespace quern {

Result<LanguageModel> build_olmo2(const Metadata& metadata, const WeightSource& weights,
                                  const ModelOptions& options);

}  // namespace quern
