// Dates against the C library.
#include "text/jinja/civil_time.h"

#include <gtest/gtest.h>

#include <ctime>

namespace quern::jinja {
namespace {

// An error becomes text, so a test can compare it.
// With a format that must be possible.
std::string format(const CivilTime& time, std::string_view text) {
  const auto formatted = format_time(time, text);
  return formatted ? *formatted : "error: " + formatted.error().message;
}

// The calendar repeats after 400 years, so 400 of at most 366 days hold each combination of
// weekday, date and leap year that occurs. %U and %W number weeks from the first Sunday and the
// first Monday.
TEST(CivilTime, EachDayOfFourCenturiesIsAsTheCLibraryHasIt) {
  std::tm clock = {};
  clock.tm_year = 1890 - 1900;
  clock.tm_mday = 1;
  clock.tm_hour = 12;
  for (int day = 0; day < 400 * 366; ++day) {
    std::tm wanted = clock;
    wanted.tm_mday += day;
    wanted.tm_isdst = 0;
    const std::time_t moment = timegm(&wanted);
    gmtime_r(&moment, &wanted);
    char text[80];
    std::strftime(text, sizeof(text), "%Y-%m-%d %a %A %b %B %j %U %w %u %W %e %y", &wanted);
    const CivilTime time{wanted.tm_year + 1900, wanted.tm_mon + 1, wanted.tm_mday, 12, 0, 0};
    ASSERT_EQ(format(time, "%Y-%m-%d %a %A %b %B %j %U %w %u %W %e %y"), text);
  }
}

// Midnight is 12 AM and noon 12 PM; a second of 60 is a leap second; %l and %k pad with a space.
TEST(CivilTime, HoursOfBothClocks) {
  EXPECT_EQ(format({2024, 1, 1, 0, 5, 9}, "%H %I %p %M %S"), "00 12 AM 05 09");
  EXPECT_EQ(format({2024, 1, 1, 12, 0, 0}, "%H %I %P"), "12 12 pm");
  EXPECT_EQ(format({2024, 1, 1, 23, 59, 60}, "%X %l|%k"), "23:59:60 11|23");
}

// - takes it off, _ pads with spaces, 0 with zeros, as glibc's strftime has it.
TEST(CivilTime, FlagsChangeThePadding) {
  const CivilTime time{2024, 3, 4, 5, 6, 7};
  EXPECT_EQ(format(time, "%d %-d %_d %e %-e %0e"), "04 4  4  4 4 04");
  EXPECT_EQ(format(time, "%F %T %D %c"), "2024-03-04 05:06:07 03/04/24 Mon Mar  4 05:06:07 2024");
}

// Python leaves them to the C library, which copies them; so does a % at the very end.
TEST(CivilTime, UnknownDirectivesStay) {
  EXPECT_EQ(format({}, "%Q %-Q 100% %"), "%Q %-Q 100% %");
  EXPECT_EQ(format({}, "%%Y é"), "%Y é");
}

// They come from a caller's fields; names of months are looked up by them.
TEST(CivilTime, TimesThatDoNotExistAreRefused) {
  EXPECT_EQ(format({2023, 2, 29, 0, 0, 0}, "%d"), "error: The time 2023-2-29 0:0:0 does not exist");
  EXPECT_EQ(format({2024, 2, 29, 0, 0, 0}, "%d"), "29");
  EXPECT_NE(format({2024, 13, 1, 0, 0, 0}, "%d"), "01");
  EXPECT_NE(format({0, 1, 1, 0, 0, 0}, "%d"), "01");
  EXPECT_NE(format({2024, 1, 1, 24, 0, 0}, "%d"), "01");
}

}  // namespace
}  // namespace quern::jinja
