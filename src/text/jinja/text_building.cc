// Replacing, splitting into lines, padding.
// The size of a result is known and reserved before it is built.
#include "text/jinja/text_building.h"

#include <algorithm>

#include "text/jinja/characters.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

// The bytes of a line's end at the begin of `text`; 0 where it is none.
size_t line_end_size(std::string_view text) {
  if (text.substr(0, 2) == "\r\n") return 2;
  const Utf8Step step = decode_utf8(text);
  const uint32_t c = step.code_point;
  const bool ends = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                    c == 0x2028 || c == 0x2029;
  return ends ? step.size : 0;
}

// `to` between all characters, as replacing an empty text does.
std::string interleave(std::string_view text, std::string_view to, int64_t count) {
  std::string out;
  for (const std::string_view character : split_characters(text)) {
    if (count != 0) {
      out += to;
      --count;
    }
    out += character;
  }
  if (count != 0) out += to;
  return out;
}

// How often `from`, which is not empty, is found in `text` from the left without overlap; at most
// `count` times where that is not negative.
size_t count_places(std::string_view text, std::string_view from, int64_t count) {
  size_t places = 0;
  size_t found = text.find(from);
  for (; found != std::string_view::npos && count != 0; --count) {
    ++places;
    found = text.find(from, found + from.size());
  }
  return places;
}

}  // namespace

// Up to `count` places, from the left; negative: all. Errors: kResourceExhausted before it is made.
Result<std::string> replace_text(Heap& heap, std::string_view text, std::string_view from,
                                 std::string_view to, int64_t count) {
  QUERN_TRY(heap.spend_scan(text.size()));
  if (from.empty()) {
    const size_t num_gaps = text.size() + 1;
    // The product below would wrap: reserving everything gives the error of the limit.
    if (to.size() > heap.limits().max_bytes / num_gaps) QUERN_TRY(heap.reserve(SIZE_MAX));
    QUERN_TRY(heap.reserve(num_gaps * (to.size() + sizeof(std::string_view))));
    QUERN_TRY(heap.spend_scan(num_gaps * (to.size() + sizeof(std::string_view))));
    return interleave(text, to, count);
  }
  const size_t places = count_places(text, from, count);
  if (places > 0 && to.size() > heap.limits().max_bytes / places) {
    QUERN_TRY(heap.reserve(SIZE_MAX));
  }
  const size_t size = text.size() - places * from.size() + places * to.size();
  QUERN_TRY(heap.reserve(size));
  QUERN_TRY(heap.spend_scan(size));
  std::string out;
  out.reserve(size);
  size_t begin = 0;
  for (size_t i = 0; i < places; ++i) {
    const size_t found = text.find(from, begin);
    out += text.substr(begin, found - begin);
    out += to;
    begin = found + from.size();
  }
  out += text.substr(begin);
  return out;
}

// At \n, \r, \r\n and the other breaks of Unicode; the last line may be empty of text and is then
// none.
std::vector<std::string_view> split_lines(std::string_view text, bool keeps_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t end_size = line_end_size(text.substr(i));
    if (end_size == 0) {
      i += decode_utf8(text.substr(i)).size;
      continue;
    }
    lines.push_back(text.substr(begin, i - begin + (keeps_ends ? end_size : 0)));
    i += end_size;
    begin = i;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

// To `width` characters; wider texts stay.
Result<std::string> pad_text(Heap& heap, std::string_view text, int64_t width,
                             std::string_view fill, Padding padding) {
  const int64_t size = count_characters(text);
  const auto missing = static_cast<size_t>(std::max<int64_t>(width - size, 0));
  if (missing > heap.limits().max_bytes) QUERN_TRY(heap.reserve(missing));
  QUERN_TRY(heap.reserve(missing * fill.size() + text.size()));
  QUERN_TRY(heap.spend_scan(missing * fill.size() + text.size()));
  size_t left = 0;
  if (padding == Padding::kLeft) left = missing;
  // Of an odd number, Python puts the larger half left where the width is odd.
  if (padding == Padding::kBoth) left = missing / 2 + (missing & static_cast<size_t>(width) & 1);
  std::string out;
  for (size_t i = 0; i < left; ++i) out += fill;
  out += text;
  for (size_t i = left; i < missing; ++i) out += fill;
  return out;
}

}  // namespace quern::jinja
