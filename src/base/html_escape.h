// Text inside HTML.
#pragma once

#include <string>
#include <string_view>

namespace quern {

// The text with &, <, >, " and ' as character references, for element content and quoted
// attributes.
std::string escape_html(std::string_view text);

}  // namespace quern
