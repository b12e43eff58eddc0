// Surprise in bits.
// The cut moves with how surprising the choices were.
#include "generate/samplers/mirostat.h"

#include "ops/math/strict_math.h"

namespace quern {

// The best candidate stays, whatever its surprise.
void MirostatStage::apply(Candidates& candidates, const StageContext& /*context*/) {
  candidates.normalise();
  // The best candidate stays even where it surprises too much.
  size_t count = 1;
  while (count < candidates.size()) {
    const auto p = static_cast<double>(candidates.list()[count].probability);
    // log2(0) is -infinity: more surprise than any mu allows. Sorted, so all behind it fall too.
    if (!(p > 0) || -strict_log2(p) > mu_) break;
    ++count;
  }
  candidates.keep_head(count);
}

// Steers mu by how surprising the choice was.
void MirostatStage::observe(const Candidate& chosen) {
  // In bits; p is the chosen one's share among those that were left.
  const double surprise = -strict_log2(static_cast<double>(chosen.probability));
  mu_ = mu_ - options_.eta * (surprise - options_.tau);
}

}  // namespace quern
