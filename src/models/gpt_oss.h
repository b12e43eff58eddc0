// gpt-oss: attention sinks, sliding windows, a clamped mixture of experts.
#pragma once

#include "models/language_model.h"

namespace quern {

Result<LanguageModel> build_gpt_oss(const Metadata& metadata, const WeightSource& weights,
                                    const ModelOptions& options);

}  // namespace quern
