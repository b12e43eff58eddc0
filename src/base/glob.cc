// Goes back to the last star only: what earlier stars took need never change.
#include "base/glob.h"

#include <cstddef>

namespace quern {

bool matches_glob(std::string_view pattern, std::string_view text, char any_one) {
  const auto fits = [&](char wanted, char found) {
    return wanted == found || (any_one != 0 && wanted == any_one);
  };
  size_t p = 0, t = 0;
  // `star` is the last '*' seen, `resume` the first byte of the text that it has not swallowed.
  size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && fits(pattern[p], text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      // Lets the star take one byte more. An earlier star needs no second try: whatever it could
      // take more, the last star can take as well.
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  // Only stars may be left over: they match nothing.
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace quern
