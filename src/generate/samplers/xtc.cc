// A cut at the head of the sorted list.
// Only where at least two candidates reach the threshold is there something to leave out.
#include "generate/samplers/xtc.h"

namespace quern {

void XtcStage::apply(Candidates& candidates, const StageContext& context) {
  // One number for each token, of a stream of its own: the draw's does not move.
  if (!(context.uniform(kXtcRandom) < static_cast<float>(options_.probability))) return;
  candidates.normalise();
  const auto threshold = static_cast<float>(options_.threshold);
  size_t count = 0;
  // At most 1 / threshold candidates.
  while (count < candidates.size() && candidates.list()[count].probability >= threshold) ++count;
  // The least probable of the expected ones stays, so that something sensible is left.
  if (count >= 2) candidates.drop_head(count - 1);
}

}  // namespace quern
