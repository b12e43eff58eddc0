// The match that is complete first wins; a possible begin of one stays held.
#include "generate/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace quern {
namespace {

// Length of the longest suffix of `text` that begins `stop`.
size_t partial_match(std::string_view text, std::string_view stop) {
  // A whole match is find()'s business.
  for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
    if (text.substr(text.size() - length) == stop.substr(0, length)) return length;
  }
  return 0;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopMatcher::push(std::string_view text) {
  if (has_stopped_) return "";
  held_ += text;
  // By end, so that it does not matter how the text was cut into pieces; then by begin.
  std::pair match(std::string::npos, std::string::npos);
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    if (const size_t at = held_.find(stop); at != std::string::npos)
      // Compares ends first, begins second.
      match = std::min(match, {at + stop.size(), at});
    // The longest that any stop string may still claim.
    keep = std::max(keep, partial_match(held_, stop));
  }
  has_stopped_ = match.first != std::string::npos;
  // What may be the begin of a stop string stays held until more text decides.
  const size_t shown = has_stopped_ ? match.second : held_.size() - keep;
  std::string result = held_.substr(0, shown);
  // Behind a match nothing is kept: push() gives "" from now on.
  held_ = has_stopped_ ? "" : held_.substr(shown);
  return result;
}

std::string StopMatcher::flush() {
  return std::exchange(held_, "");
}

}  // namespace quern
