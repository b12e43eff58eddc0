// What a device may offer besides the contract: keeping weights in its own layout between loads.
#pragma once

#include <string>

namespace quern {

// A Device that packs weights at load can implement it too; ask with dynamic_cast.
class PackedWeightKeeper {
 public:
  virtual ~PackedWeightKeeper() = default;
  // From now on load() keeps packed weights in files of `folder`, keyed by what they hold, and maps
  // them instead of packing where they are there already. Empty: nothing is kept.
  virtual void keep_packed_weights(const std::string& folder) = 0;
};

}  // namespace quern
