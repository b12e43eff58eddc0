// Errors with their place in a template's source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quern/error.h"

namespace quern::jinja {

// A sentence without its full stop, and where it happened.
struct LocatedError {
  Error error;
  uint32_t offset = 0;  // bytes
};

// "Chat template, line 3, column 14: 'x' is undefined." Columns count characters from 1.
Error locate(const LocatedError& error, std::string_view source);

}  // namespace quern::jinja
