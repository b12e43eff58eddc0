// Names of layouts.
#include "quern/layout.h"

namespace quern {

// The name behind '@' in the text of a type.
std::string_view layout_name(LayoutKind kind) {
  switch (kind) {
    case LayoutKind::kRowMajor:
      return "row_major";
    case LayoutKind::kColumnMajor:
      return "column_major";
    case LayoutKind::kStrided:
      return "strided";
    case LayoutKind::kTiled:
      return "tiled";
    case LayoutKind::kPrivate:
      return "private";
  }
  // A number that is no enumerator can come from a cast alone; messages must not crash on it.
  return "unknown";
}

}  // namespace quern
