// Text inside HTML.
#include "base/html_escape.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// Inside attributes as well.
TEST(EscapeHtml, ReplacesWhatMeansSomething) {
  EXPECT_EQ(escape_html("a < b && c > \"d\" 'e'"),
            "a &lt; b &amp;&amp; c &gt; &#34;d&#34; &#39;e&#39;");
}

// UTF-8 is not touched.
// Bytes of é and € stay as they are; an escaped text is escaped again, as it must be.
TEST(EscapeHtml, KeepsEverythingElse) {
  EXPECT_EQ(escape_html(""), "");
  EXPECT_EQ(escape_html("plain; text\n\t#1"), "plain; text\n\t#1");
  EXPECT_EQ(escape_html("\xC3\xA9\xE2\x82\xAC"), "\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(escape_html("&amp;"), "&amp;amp;");
}

}  // namespace
}  // namespace quern
