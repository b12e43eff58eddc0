// A moment on the wall clock, and its text.
#pragma once

#include <string>
#include <string_view>

#include "quern/error.h"

namespace quern::jinja {

// Of the proleptic Gregorian calendar. The caller chooses the time zone.
struct CivilTime {
  int year = 1970;  // 1 to 9999
  int month = 1;    // 1 to 12
  int day = 1;      // 1 to 31
  // Of the day, 0 to 23, 0 to 59 and 0 to 60: a leap second is a second.
  int hour = 0;
  int minute = 0;
  int second = 0;
};

// Python's strftime in English: %d, %B, %Y and the like, with "%-d" for no padding. A directive
// that it does not know stands as it is. Errors: kInvalidArgument (a time that does not exist).
Result<std::string> format_time(const CivilTime& time, std::string_view format);

}  // namespace quern::jinja
