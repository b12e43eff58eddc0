// Ids separated by commas or spaces.
#include "cli/token_list.h"

#include <charconv>

#include "base/fail.h"

namespace quern::cli {

Result<std::vector<int32_t>> parse_token_list(std::string_view text) {
  std::vector<int32_t> ids;
  size_t at = 0;
  while (true) {
    at = text.find_first_not_of(", \t\n[]", at);
    if (at == std::string_view::npos) return ids;
    const size_t end = std::min(text.find_first_of(", \t\n[]", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    int32_t id = 0;
    const auto [stop, code] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (code != std::errc{} || stop != word.data() + word.size() || id < 0) {
      return fail::invalid("'{}' is not a token id.", word);
    }
    ids.push_back(id);
    at = end;
  }
}

}  // namespace quern::cli
