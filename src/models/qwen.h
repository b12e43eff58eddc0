// The Qwen families: Qwen2 (biases on q, k, v) and Qwen3 (norms on q and k heads), dense or MoE.
#pragma once

#include "models/language_model.h"

namespace quern {

Result<LanguageModel> build_qwen2(const Metadata& metadata, const WeightSource& weights,
                                  const ModelOptions& options);
Result<LanguageModel> build_qwen3(const Metadata& metadata, const WeightSource& weights,
                                  const ModelOptions& options);

}  // namespace quern
