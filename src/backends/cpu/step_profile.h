// Time, products and bytes of the steps of runs, summed by kind of work.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/cpu/step.h"
#include "quern/device.h"

namespace quern::cpu {

// Owned by an executable. One thread only.
class StepProfile {
 public:
  // Adds one run of `step`, which stands for `node` and took `seconds`.
  void add(const Node& node, const Step& step, const StepContext& context, double seconds);
  // What was added since the last call, in the order of first appearance.
  std::vector<ProfileEntry> take();

 private:
  std::map<std::pair<std::string, std::string>, size_t> places_;  // by operation and detail
  std::vector<ProfileEntry> entries_;
};

}  // namespace quern::cpu
