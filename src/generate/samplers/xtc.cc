// A cut at the head of the sorted list.
// Only where at least two candidates reach the threshold is there something to leave out.
#include "generate/samplers/xtc.h"

namespace quern {

void XtcStage::apply(Candidates& candidates, const StageContext& context) {
  if (!(context.uniform(kXtcRandom) < static_cast<float>(options_.probability))) return;
  candidates.normalise();
  const auto threshold = static_cast<float>(options_.threshold);
  size_t count = 0;
  while (count < candidates.size() && candidates.list()[count].probability >= threshold) ++count;
  if (count >= 2) candidates.drop_head(count - 1);
}

}  // namespace quern
