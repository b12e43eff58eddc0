// How a tensor's elements lie in memory. Offsets and strides count elements, never bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace quern {

// The families of layouts. Everything that the public API makes is row-major; the others belong to
// backends, which convert at their border.
enum class LayoutKind : uint8_t {
  kRowMajor,     // dense, last axis fastest
  kColumnMajor,  // dense, first axis fastest
  kStrided,      // any strides, in elements
  kTiled,    // tile_rows x tile_columns blocks of the last two axes, row-major inside and outside
  kPrivate,  // known only to the backend that made it
};

// A layout with the numbers that its kind needs. A plain value; thread-compatible.
struct Layout {
  LayoutKind kind = LayoutKind::kRowMajor;
  int32_t tile_rows = 0;     // kTiled only: rows of a tile
  int32_t tile_columns = 0;  // kTiled only: columns of a tile
  bool operator==(const Layout&) const = default;
};

// "row_major", "tiled", ...: the name in the text form of a tensor type.
std::string_view layout_name(LayoutKind kind);

}  // namespace quern
