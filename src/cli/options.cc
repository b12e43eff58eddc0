// The only file that includes the command-line library. Values are checked here and not by the
// library, whose texts are no sentences and whose numbers overflow silently.
#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "cli/console.h"

namespace quern::cli {
namespace {

// The text as a T, whole and without overflow; nothing for "+1", " 1", "1x", "nan" of an integer.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The name of the check that a number fits its target.
constexpr const char* kTypeCheck = "type";

// What a number of type T may be, for messages.
template <class T>
std::string number_words() {
  if constexpr (std::is_floating_point_v<T>) return "a number";
  if constexpr (std::is_signed_v<T>) return fmt::format("a whole number of {} bits", sizeof(T) * 8);
  return fmt::format("a whole number from 0 to {}", std::numeric_limits<T>::max());
}

// A check of one value. `words` say what it must be; `in_help` stands in the help text.
template <class IsRight>
CLI::Validator must_be(std::string words, IsRight is_right, std::string in_help = "") {
  return CLI::Validator(
      [words, is_right](std::string& text) {
        return is_right(text) ? std::string() : fmt::format("'{}' is not {}", text, words);
      },
      std::move(in_help));
}

// Bytes of "500", "500M", "2G": powers of 1,024, in either case, with or without "B" or "iB".
std::optional<int64_t> parse_size(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number<int64_t>(text.substr(0, digits));
  std::string unit;
  for (const char c : text.substr(digits)) {
    unit += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  if (unit.size() > 2 && unit.ends_with("IB")) {
    unit.resize(unit.size() - 2);
  } else if (unit.ends_with('B')) {
    unit.pop_back();
  }
  constexpr std::string_view kUnits = "KMGT";
  // 1 to 4 for K to T; npos + 1 is 0, for an unknown letter.
  const size_t power = unit.empty() ? 0 : kUnits.find(unit) + 1;
  const bool is_unit = unit.empty() || (unit.size() == 1 && power > 0);
  // The shift to the left must not pass 63 bits.
  if (!number || !is_unit || *number > std::numeric_limits<int64_t>::max() >> (10 * power)) {
    return std::nullopt;
  }
  return *number << (10 * power);
}

// The number behind a target: T itself, or what an optional holds.
template <class T>
struct ElementOf {
  using Type = T;
};
// Each specialisation takes one wrapper off.
template <class T>
struct ElementOf<std::optional<T>> {
  using Type = T;
};
template <class T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};

// "--name=" is the name and an empty value; the library would take the next argument as the value.
std::vector<std::string> split_empty_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> split;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (argument.starts_with("--") && equals != std::string::npos &&
        equals + 1 == argument.size()) {
      split.push_back(argument.substr(0, equals));
      split.emplace_back();
    } else {
      split.push_back(argument);
    }
  }
  return split;
}

}  // namespace

// Each call hands its wish to the library and gives the handle back, so that calls chain.
Option Option::required() {
  option_->required();
  return *this;
}

// The value that the target holds while the options are set up.
Option Option::show_default() {
  option_->capture_default_str();
  return *this;
}

// Inclusive; replaces the check of the type, whose text says less.
Option Option::range(int64_t low, int64_t high) {
  const auto is_right = [low, high](const std::string& text) {
    const auto value = parse_number<int64_t>(text);
    return value && *value >= low && *value <= high;
  };
  // The range says more than the check of the type that add_option() put there.
  option_->get_validator(kTypeCheck)->active(false);
  option_->check(must_be(fmt::format("a whole number from {} to {}", low, high), is_right,
                         fmt::format("in [{} - {}]", low, high)));
  return *this;
}

// NaN is no number here.
Option Option::positive() {
  option_->check(must_be("a number over 0", [](const std::string& text) {
    return parse_number<double>(text).value_or(0) > 0;
  }));
  return *this;
}

Option Option::non_negative() {
  option_->check(must_be("a number from 0 up", [](const std::string& text) {
    return parse_number<double>(text).value_or(-1) >= 0;
  }));
  return *this;
}

// Exact words: abbreviations would change meaning with the next version.
Option Option::one_of(std::initializer_list<const char*> words) {
  const std::vector<std::string> list(words.begin(), words.end());
  const auto is_right = [list](const std::string& text) {
    return std::find(list.begin(), list.end(), text) != list.end();
  };
  option_->check(must_be(fmt::format("one of {}", fmt::join(list, ", ")), is_right,
                         fmt::format("{{{}}}", fmt::join(list, ","))));
  return *this;
}

// See parse_size().
Option Option::size_with_unit() {
  // A transformation runs before all checks and hands them the number of bytes.
  option_->transform(CLI::Validator(
      [](std::string& text) {
        const auto bytes = parse_size(text);
        if (!bytes || *bytes == 0) {
          return fmt::format("'{}' is not a size over 0 such as 500M or 2G", text);
        }
        text = std::to_string(*bytes);
        return std::string();
      },
      "SIZE"));
  return *this;
}

// Without it the last one counts.
Option Option::repeatable() {
  // One value for each time that the option is given: a second word is the next argument.
  option_->take_all()->expected(1)->allow_extra_args(false);
  return *this;
}

// The separator joins what one argument holds; repeated arguments add up.
Option Option::comma_separated() {
  option_->delimiter(',')->allow_extra_args(false);
  return *this;
}

// A flag with a value that may be left out.
Option Option::default_value(const std::string& value) {
  option_->expected(0, 1)->default_str(value);
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

// Headings stand in the order of their first use.
Option Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

// By the command line, not by a default.
bool Option::is_given() const {
  return option_->count() > 0;
}

// The library converts and stores; the check before it sees the text.
template <class T>
Option OptionSet::add_option(const std::string& name, T& target, const std::string& help) {
  CLI::Option* option = app_->add_option(name, target, help);
  using Element = typename ElementOf<T>::Type;
  if constexpr (std::is_arithmetic_v<Element>) {
    const auto is_right = [](const std::string& text) {
      return parse_number<Element>(text).has_value();
    };
    option->check(must_be(number_words<Element>(), is_right).name(kTypeCheck));
  }
  return Option(option);
}

// The types of targets that options.h promises.
template Option OptionSet::add_option(const std::string&, std::string&, const std::string&);
// Explicit, so that no other file needs the library's header.
template Option OptionSet::add_option(const std::string&, int&, const std::string&);
template Option OptionSet::add_option(const std::string&, int64_t&, const std::string&);
template Option OptionSet::add_option(const std::string&, uint32_t&, const std::string&);
template Option OptionSet::add_option(const std::string&, uint64_t&, const std::string&);
template Option OptionSet::add_option(const std::string&, double&, const std::string&);
template Option OptionSet::add_option(const std::string&, std::optional<int64_t>&,
                                      const std::string&);
template Option OptionSet::add_option(const std::string&, std::optional<uint64_t>&,
                                      const std::string&);
template Option OptionSet::add_option(const std::string&, std::optional<double>&,
                                      const std::string&);
template Option OptionSet::add_option(const std::string&, std::vector<std::string>&,
                                      const std::string&);
template Option OptionSet::add_option(const std::string&, std::vector<int64_t>&,
                                      const std::string&);

// "!--name" sets the flag to false.
Option OptionSet::add_flag(const std::string& name, bool& target, const std::string& help) {
  return Option(app_->add_flag(name, target, help));
}

// For options that another function added.
void OptionSet::describe(const std::string& name, const std::string& help) {
  app_->get_option(name)->description(help);
}

// A group of which exactly one option must be given.
OptionSet OptionSet::add_choice(const std::string& name, const std::string& help) {
  CLI::Option_group* group = app_->add_option_group(name, help);
  // The library makes the message from the names of the group's options.
  group->require_option(1);
  return OptionSet(group);
}

// Takes the library's own --help away.
Option OptionSet::add_help_flag(bool& target, const std::string& help) {
  app_->set_help_flag();
  return add_flag("-h,--help", target, help);
}

// As the library lays it out; the usage line begins with the program, as that of every command.
std::string OptionSet::help_text() const {
  const CLI::App* parent = app_->get_parent();
  return app_->help(parent == nullptr ? "" : parent->get_name());
}

void OptionSet::footer(const std::string& text) {
  app_->footer(text);
}

// The library keeps what it was given until parse().
Program::Program(const std::string& name, const std::string& about, const std::string& version,
                 const std::string& footer)
    : app_(std::make_unique<CLI::App>(about, name)) {
  // Exactly one.
  app_->require_subcommand(1);
  app_->set_version_flag("--version", version);
  app_->footer(footer);
}

Program::~Program() = default;

// Its options are its own: the same name may mean something else elsewhere.
OptionSet Program::add_command(const std::string& name, const std::string& summary) {
  commands_.push_back(name);
  return OptionSet(app_->add_subcommand(name, summary));
}

// Names what is wrong and what there is.
std::string Program::usage_error(const CLI::ParseError& error,
                                 const std::vector<std::string>& arguments) const {
  if (arguments.empty()) return "No command was given.";
  const std::string& first = arguments.front();
  if (!first.starts_with('-') && !has_command(first)) {
    return fmt::format("There is no command '{}'; the commands are {}.", first,
                       fmt::join(commands_, ", "));
  }
  // The library looks for what is missing first; but a name that does not exist comes before it.
  if (error.get_name() == "RequiredError") {
    const CLI::App* app = has_command(first) ? app_->get_subcommand(first) : app_.get();
    for (const std::string& argument : arguments) {
      const std::string name = argument.substr(0, argument.find('='));
      if (name.size() > 2 && name.starts_with("--") && app->get_option_no_throw(name) == nullptr) {
        return fmt::format("There is no option '{}'.", name);
      }
    }
  }
  const std::string what = error.what();
  // "--threads: 1 required INT missing" and the like: the name is all that helps.
  const size_t colon = what.find(": ");
  const bool is_repeated =
      what.find("At Most") != std::string::npos || what.find("but received") != std::string::npos;
  if (is_repeated && colon != std::string::npos) {
    return fmt::format("{} is given more than once.", what.substr(0, colon));
  }
  if (error.get_name() == "ArgumentMismatch" && colon != std::string::npos) {
    return fmt::format("{} needs a value.", what.substr(0, colon));
  }
  return what + ".";
}

// The library throws; nothing leaves this function but a code.
std::optional<int> Program::parse(int argc, char** argv) {
  const std::vector<std::string> arguments =
      split_empty_values({argv + std::min(argc, 1), argv + argc});
  try {
    // It takes them from the back.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app_->parse(std::move(reversed));
    // --help and --version arrive as exceptions of this kind.
  } catch (const CLI::Success& help) {
    return app_->exit(help);
  } catch (const CLI::ParseError& error) {
    const std::string first = arguments.empty() ? "" : arguments.front();
    print_status("quern: {}\n'quern {}--help' shows what there is.\n",
                 usage_error(error, arguments), has_command(first) ? first + " " : "");
    return 2;
  }
  return std::nullopt;
}

// Few commands: a linear search.
bool Program::has_command(std::string_view name) const {
  return std::find(commands_.begin(), commands_.end(), name) != commands_.end();
}

// False before parse().
bool Program::is_chosen(const std::string& command) const {
  return app_->got_subcommand(command);
}

}  // namespace quern::cli
