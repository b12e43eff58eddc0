// Goes back to the last star only: what earlier stars took need never change.
#include "base/glob.h"

#include <cstddef>

namespace quern {

bool matches_glob(std::string_view pattern, std::string_view text, char any_one) {
  const auto fits = [&](char wanted, char found) {
    return wanted == found || (any_one != 0 && wanted == any_one);
  };
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && fits(pattern[p], text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace quern
