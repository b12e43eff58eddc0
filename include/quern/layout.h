// How a tensor's elements lie in memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace quern {

enum class LayoutKind : uint8_t {
  kRowMajor,     // dense, last axis fastest
  kColumnMajor,  // dense, first axis fastest
  kStrided,      // any strides, in elements
  kTiled,    // tile_rows x tile_columns blocks of the last two axes, row-major inside and outside
  kPrivate,  // known only to the backend that made it
};

struct Layout {
  LayoutKind kind = LayoutKind::kRowMajor;
  int32_t tile_rows = 0;
  int32_t tile_columns = 0;
  bool operator==(const Layout&) const = default;
};

std::string_view layout_name(LayoutKind kind);

}  // namespace quern
