// The list of model families. A new family adds an include and a line.
#include <fmt/format.h>
#include <array>

#include "base/fail.h"
#include "models/gemma.h"
#include "models/gpt2.h"
#include "models/gpt_oss.h"
#include "models/granite.h"
#include "models/language_model.h"
#include "models/llama.h"
#include "models/olmo2.h"
#include "models/phi3.h"
#include "models/qwen.h"
#include "models/starcoder2.h"

namespace quern {
namespace {

// clang-format off: one family a line
constexpr std::array kFamilies = {
    ModelFamily{"gemma2", build_gemma2},   ModelFamily{"gemma3", build_gemma3},
    ModelFamily{"gpt-oss", build_gpt_oss}, ModelFamily{"gpt2", build_gpt2},
    ModelFamily{"granite", build_granite}, ModelFamily{"llama", build_llama},
    ModelFamily{"olmo2", build_olmo2},     ModelFamily{"phi3", build_phi3},
    ModelFamily{"qwen2", build_qwen2},     ModelFamily{"qwen3", build_qwen3},
    ModelFamily{"qwen3moe", build_qwen3},  ModelFamily{"starcoder2", build_starcoder2},
};
// clang-format on

}  // namespace

// Sorted by name.
std::span<const ModelFamily> model_families() {
  return kFamilies;
}

// The key general.architecture decides.
Result<LanguageModel> build_language_model(const Metadata& metadata, const WeightSource& weights,
                                           const ModelOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const std::string_view architecture,
                         metadata.text("general.architecture"));
  std::vector<std::string_view> known;
  for (const ModelFamily& family : kFamilies) {
    if (family.architecture == architecture) return family.build(metadata, weights, options);
    known.push_back(family.architecture);
  }
  return fail::not_found("There is no model family '{}'; this build has {}.", architecture,
                         fmt::join(known, ", "));
}

}  // namespace quern
