// The list of stages.
// A stage whose options do nothing is not made at all.
#include "generate/samplers/dry.h"
#include "generate/samplers/head_filters.h"
#include "generate/samplers/penalties.h"
#include "generate/samplers/stage.h"
#include "generate/samplers/temperature.h"
#include "generate/samplers/top_n_sigma.h"
#include "generate/samplers/typical.h"
#include "generate/samplers/xtc.h"

namespace quern {
namespace {

// A stage behind the interface.
template <class Stage, class... Args>
std::unique_ptr<SamplerStage> make_if(bool is_on, const Args&... args) {
  if (!is_on) return nullptr;
  return std::make_unique<Stage>(args...);
}

}  // namespace

// One case for each kind.
std::unique_ptr<SamplerStage> make_sampler_stage(SamplerStageKind kind,
                                                 const SamplerOptions& options) {
  switch (kind) {
    case SamplerStageKind::kPenalties:
      return make_if<PenaltiesStage>(PenaltiesStage::is_on(options.penalties), options.penalties);
    case SamplerStageKind::kDry:
      return make_if<DryStage>(DryStage::is_on(options.dry), options.dry, options.dry_breakers);
    case SamplerStageKind::kTopNSigma:
      return make_if<TopNSigmaStage>(options.top_n_sigma > 0, options.top_n_sigma);
    case SamplerStageKind::kTopK:
      return make_if<TopKStage>(options.top_k > 0, options.top_k);
    case SamplerStageKind::kTypical:
      return make_if<TypicalStage>(options.typical_p < 1, options.typical_p);
    case SamplerStageKind::kTopP:
      return make_if<TopPStage>(options.top_p < 1, options.top_p);
    case SamplerStageKind::kMinP:
      return make_if<MinPStage>(options.min_p > 0, options.min_p);
    case SamplerStageKind::kXtc:
      return make_if<XtcStage>(XtcStage::is_on(options.xtc), options.xtc);
    case SamplerStageKind::kTemperature:
      return make_if<TemperatureStage>(
          // At 1 no share changes.
          options.temperature != 1 || options.dynamic_temperature.range > 0, options.temperature,
          options.dynamic_temperature);
  }
  return nullptr;
}

}  // namespace quern
