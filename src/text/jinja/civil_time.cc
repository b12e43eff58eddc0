// strftime without the C library's locale and clock.
// Templates print dates; the same time must give the same text on every machine.
#include "text/jinja/civil_time.h"

#include <array>
#include <optional>

#include "base/fail.h"

namespace quern::jinja {
namespace {

// Names of the C locale, which strftime_now() promises whatever the host's.
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

// The Gregorian rule, also before its time.
bool is_leap(int year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

// `month` from 1.
int days_in_month(int year, int month) {
  if (month == 2) return is_leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// From 1.
int day_of_year(const CivilTime& time) {
  int days = time.day;
  for (int month = 1; month < time.month; ++month) days += days_in_month(time.year, month);
  return days;
}

// 0 is Sunday. 1 January of year 1 was a Monday.
int day_of_week(const CivilTime& time) {
  const int years = time.year - 1;
  // Days from 1 January of year 1, counted from 1, modulo 7: that Monday gives 1.
  return (years * 365 + years / 4 - years / 100 + years / 400 + day_of_year(time)) % 7;
}

// A directive's number and how wide it is printed.
struct Number {
  int value;
  int width;
  char fill = '0';
};

// Directives that are numbers; nothing for others.
std::optional<Number> numeric(const CivilTime& time, char directive) {
  // 0 and 12 are both shown as 12.
  const int half_hour = time.hour % 12 == 0 ? 12 : time.hour % 12;
  switch (directive) {
    case 'Y':
      return Number{time.year, 1};
    case 'C':
      return Number{time.year / 100, 2};
    case 'y':
      return Number{time.year % 100, 2};
    case 'm':
      return Number{time.month, 2};
    case 'd':
      return Number{time.day, 2};
    case 'e':
      return Number{time.day, 2, ' '};
    case 'H':
      return Number{time.hour, 2};
    case 'I':
      return Number{half_hour, 2};
    case 'k':
      return Number{time.hour, 2, ' '};
    case 'l':
      return Number{half_hour, 2, ' '};
    case 'M':
      return Number{time.minute, 2};
    case 'S':
      return Number{time.second, 2};
    // Microseconds, which the given time has not.
    case 'f':
      return Number{0, 6};
    case 'j':
      return Number{day_of_year(time), 3};
    case 'w':
      return Number{day_of_week(time), 1};
    case 'u':
      return Number{(day_of_week(time) + 6) % 7 + 1, 1};
    case 'U':
      // Week of the year from the first Sunday on: days before it are week 0.
      return Number{(day_of_year(time) + 6 - day_of_week(time)) / 7, 2};
    case 'W':
      // The same from the first Monday: (weekday + 6) % 7 counts from Monday as 0.
      return Number{(day_of_year(time) + 6 - (day_of_week(time) + 6) % 7) / 7, 2};
    default:
      return std::nullopt;
  }
}

// Directives that stand for others.
std::string_view expansion(char directive) {
  switch (directive) {
    case 'D':
    case 'x':
      return "%m/%d/%y";
    case 'F':
      return "%Y-%m-%d";
    case 'R':
      return "%H:%M";
    case 'T':
    case 'X':
      return "%H:%M:%S";
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    case 'r':
      return "%I:%M:%S %p";
    default:
      return {};
  }
}

// Directives that are names; nothing for others.
std::optional<std::string_view> named(const CivilTime& time, char directive) {
  const std::string_view day = kDays[static_cast<size_t>(day_of_week(time))];
  const std::string_view month = kMonths[static_cast<size_t>(time.month - 1)];
  switch (directive) {
    case 'A':
      return day;
    case 'a':
      return day.substr(0, 3);
    case 'B':
      return month;
    case 'b':
    case 'h':
      return month.substr(0, 3);
    case 'p':
      return time.hour < 12 ? "AM" : "PM";
    case 'P':
      return time.hour < 12 ? "am" : "pm";
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    case 'z':  // a time without a zone
    case 'Z':
      return "";
    default:
      return std::nullopt;
  }
}

// "-" leaves padding out, "_" pads with spaces, else zeros.
std::string padded(const Number& number, char flag) {
  const std::string digits = std::to_string(number.value);
  const char fill = flag == '_' ? ' ' : flag == '0' ? '0' : number.fill;
  const auto width = static_cast<size_t>(number.width);
  if (flag == '-' || digits.size() >= width) return digits;
  return std::string(width - digits.size(), fill) + digits;
}

// Unknown directives stay as they are written.
void append_time(const CivilTime& time, std::string_view format, std::string& out) {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const size_t begin = i++;
    char flag = 0;
    if (i + 1 < format.size() &&
        std::string_view("-_0").find(format[i]) != std::string_view::npos) {
      flag = format[i++];
    }
    const char directive = format[i];
    if (const auto number = numeric(time, directive)) {
      out += padded(*number, flag);
    } else if (const auto name = named(time, directive)) {
      out += *name;
    } else if (!expansion(directive).empty()) {
      append_time(time, expansion(directive), out);
    } else {
      out += format.substr(begin, i - begin + 1);
    }
  }
}

}  // namespace

// Errors: kInvalidArgument for a date or time that does not exist.
Result<std::string> format_time(const CivilTime& time, std::string_view format) {
  const bool is_date = time.year >= 1 && time.year <= 9999 && time.month >= 1 && time.month <= 12 &&
                       time.day >= 1 && time.day <= days_in_month(time.year, time.month);
  const bool is_clock = time.hour >= 0 && time.hour < 24 && time.minute >= 0 && time.minute < 60 &&
                        // 60: a leap second.
                        time.second >= 0 && time.second <= 60;
  if (!is_date || !is_clock) {
    return fail::invalid("The time {}-{}-{} {}:{}:{} does not exist", time.year, time.month,
                         time.day, time.hour, time.minute, time.second);
  }
  std::string out;
  append_time(time, format, out);
  return out;
}

}  // namespace quern::jinja
