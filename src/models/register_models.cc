// The list of model families. A new family adds an include and a line.
#include <array>

#include "base/fail.h"
#include "models/language_model.h"
#include "models/llama.h"

namespace quern {
namespace {

constexpr std::array kFamilies = {
    ModelFamily{"llama", build_llama},
};

}  // namespace

std::span<const ModelFamily> model_families() {
  return kFamilies;
}

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
