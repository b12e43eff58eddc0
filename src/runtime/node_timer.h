// Times the nodes of a run for callers that ask for a profile.
#pragma once

#include <chrono>

#include "quern/device.h"

namespace quern {

// From construction to destruction is the time of `node`. Does nothing without a profile.
class NodeTimer {
 public:
  // Null: nothing is measured.
  NodeTimer(RunProfile* profile, NodeId node) : profile_(profile), node_(node) {
    if (profile_ != nullptr) start_ = Clock::now();
  }
  // Adds the time to the profile.
  ~NodeTimer() {
    if (profile_ == nullptr) return;
    const std::chrono::duration<double> spent = Clock::now() - start_;
    profile_->nodes.push_back({node_, spent.count()});
  }
  NodeTimer(const NodeTimer&) = delete;
  NodeTimer& operator=(const NodeTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  RunProfile* profile_;
  NodeId node_;
  Clock::time_point start_ = {};
};

}  // namespace quern
