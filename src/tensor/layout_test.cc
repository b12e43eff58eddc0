// Tests of the names of layouts.
#include "quern/layout.h"

#include <gtest/gtest.h>

#include <set>

namespace quern {
namespace {

// They stand in texts of types.
TEST(Layout, EachKindHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const LayoutKind kind : {LayoutKind::kRowMajor, LayoutKind::kColumnMajor,
                                LayoutKind::kStrided, LayoutKind::kTiled, LayoutKind::kPrivate}) {
    EXPECT_NE(layout_name(kind), "unknown");
    EXPECT_TRUE(names.insert(layout_name(kind)).second);
  }
  EXPECT_EQ(layout_name(LayoutKind::kPrivate), "private");
  EXPECT_EQ(layout_name(static_cast<LayoutKind>(77)), "unknown");
}

// And is not written.
TEST(Layout, RowMajorIsTheDefault) {
  EXPECT_EQ(Layout{}, (Layout{LayoutKind::kRowMajor, 0, 0}));
  EXPECT_NE(Layout{}, (Layout{LayoutKind::kTiled, 8, 8}));
}

}  // namespace
}  // namespace quern
