// Plain reads, since pipes cannot be mapped.
#include "cli/text_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/fail.h"

namespace quern::cli {
namespace {

// Far more than a text has; a device such as /dev/zero has no end.
constexpr size_t kMostText = size_t{1} << 30;

}  // namespace

// Errors: kNotFound where there is no such file, kUnavailable for all else; both name the path.
Result<std::string> read_text_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) {
    const auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable;
    return fail::with(code, "File '{}' cannot be opened: {}.", path, std::strerror(errno));
  }
  std::string text;
  // A pipe of Linux holds as much.
  std::array<char, 1 << 16> piece;
  while (const size_t size = std::fread(piece.data(), 1, piece.size(), file.get())) {
    text.append(piece.data(), size);
    if (text.size() > kMostText) {
      return fail::exhausted("File '{}' holds more than {} MiB, the limit for text.", path,
                             kMostText >> 20);
    }
  }
  // fread() gives 0 at the end and after an error alike; a folder opens and fails here.
  if (std::ferror(file.get()) != 0) {
    return fail::unavailable("File '{}' cannot be read: {}.", path, std::strerror(errno));
  }
  return text;
}

}  // namespace quern::cli
