// Stop strings in streamed text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern {

// Holds back text that may be the begin of a stop string, so that nothing of it is shown, even
// where it spans tokens. One thread only.
class StopMatcher {
 public:
  // Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);
  // The text that can be shown now. After a match has_stopped() is true and the rest is dropped.
  // The stop string that is complete first counts, so the result does not depend on the cuts.
  std::string push(std::string_view text);
  // The text held back, when generation ends without a match.
  std::string flush();
  bool has_stopped() const { return has_stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool has_stopped_ = false;
};

}  // namespace quern
