// Building blocks of the filters and methods of texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/jinja/heap.h"

namespace quern::jinja {

// `text` with the first `count` occurrences of `from` replaced; all where count < 0. An empty
// `from` stands between all characters. Errors: kResourceExhausted.
Result<std::string> replace_text(Heap& heap, std::string_view text, std::string_view from,
                                 std::string_view to, int64_t count);

// Python's str.splitlines().
std::vector<std::string_view> split_lines(std::string_view text, bool keeps_ends);

// On which side pad_text() adds characters; kBoth centres, and an odd one goes where Python puts
// it.
enum class Padding { kLeft, kRight, kBoth };
// `text` padded to `width` characters at the side named. Errors: kResourceExhausted.
Result<std::string> pad_text(Heap& heap, std::string_view text, int64_t width,
                             std::string_view fill, Padding padding);

}  // namespace quern::jinja
