// Messages beside the output.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace quern::cli {

// To standard error. What cannot be written there is lost, and nothing else: a message must not end
// the work that it tells of.
template <class... Args>
void print_status(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace quern::cli
