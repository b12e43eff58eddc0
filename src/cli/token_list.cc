// Ids separated by commas or spaces.
// What tokenize prints is taken back, and so is JSON.
#include "cli/token_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/fail.h"
#include "text/utf8.h"

namespace quern::cli {

// Commas, blanks and brackets separate.
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
    // An id must also be whole: "1.5" and "0x10" stop early.
    if (code != std::errc{} || stop != word.data() + word.size() || id < 0) {
      return fail::invalid("'{}' is not a token id.", word);
    }
    ids.push_back(id);
    at = end;
    const size_t next = std::min(text.find_first_not_of(", \t\n[]", at), text.size());
    // "1,,2" has lost an id; one comma among blanks and line breaks is a list.
    if (std::ranges::count(text.substr(at, next - at), ',') > 1) {
      return fail::invalid("There is no token id between two commas after {}.", id);
    }
  }
}

namespace {

// Bytes as a person reads them: characters as they are, what cannot be shown as \n, \t, \xHH.
void append_escaped(std::string_view bytes, std::string& out) {
  constexpr std::string_view kPlain = "\n\t\r\"\\";
  constexpr std::string_view kLetters = "ntr\"\\";
  while (!bytes.empty()) {
    const Utf8Step step = decode_utf8(bytes);
    const size_t plain = kPlain.find(bytes[0]);
    // Bytes that are no character are shown one by one: a token may hold a part of one.
    size_t size = 1;
    if (plain != std::string_view::npos) {
      out += {'\\', kLetters[plain]};
    } else if (step.status != Utf8Status::kValid || step.code_point < 0x20) {
      out += fmt::format("\\x{:02X}", static_cast<uint8_t>(bytes[0]));
    } else {
      size = step.size;
      out += bytes.substr(0, size);
    }
    bytes.remove_prefix(size);
  }
}

}  // namespace

// A line for each token.
std::string describe_tokens(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  std::string out;
  for (const int32_t id : ids) {
    out += fmt::format("{:>7}  \"", id);
    append_escaped(tokenizer.token_bytes(id), out);
    out += "\"\n";
  }
  return out;
}

}  // namespace quern::cli
