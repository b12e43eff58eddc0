// Options of the commands: the one face of the command-line library, whose own header costs each
// file that includes it six seconds of compiling.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace quern::cli {

// One option, for the calls that refine it; each gives the option again. A handle that lives as
// long as its Program; copies mean the same option. One thread only.
class Option {
 public:
  // Made by OptionSet.
  explicit Option(CLI::Option* option) : option_(option) {}

  // Parsing fails without it.
  Option required();
  // The help text names the value that the target holds now.
  Option show_default();
  // Integers from `low` to `high`, both included.
  Option range(int64_t low, int64_t high);
  // Numbers over 0.
  Option positive();
  // Numbers from 0 up.
  Option non_negative();
  // One of these words; the error lists them.
  Option one_of(std::initializer_list<const char*> words);
  // A number of bytes over 0 with an optional unit K, M, G, T, in powers of 1,024; the target gets
  // the bytes.
  Option size_with_unit();
  // Given again, it adds to its target, a list; each time with one value.
  Option repeatable();
  // Several values with commas between them: "1,8,32"; the target is a list.
  Option comma_separated();
  // May stand without a value, which then means `value`.
  Option default_value(const std::string& value);
  // Not together with `other`.
  Option excludes(Option other);
  // Only together with `other`.
  Option needs(Option other);
  // The heading of the help text under which it stands.
  Option group(const std::string& heading);

  // After parsing: whether the command line had it.
  bool is_given() const;

 private:
  CLI::Option* option_;
};

// The options of one command, or a group of them. A handle that lives as long as its Program.
// One thread only.
class OptionSet {
 public:
  // Made by Program.
  explicit OptionSet(CLI::App* app) : app_(app) {}

  // "--name" is an option, "NAME" a positional argument. `target` is
  // borrowed: it must live until the command has run; it keeps its value where the command line
  // does not have the option. T is std::string, int, int64_t, uint32_t, uint64_t, double, an
  // optional of int64_t, uint64_t or double, or a vector of strings or int64_t.
  template <class T>
  Option add_option(const std::string& name, T& target, const std::string& help);
  // "--name" without a value sets `target`, borrowed as above.
  Option add_flag(const std::string& name, bool& target, const std::string& help);
  // Another help text for an option that is there.
  void describe(const std::string& name, const std::string& help);
  // Options of which exactly one must be given.
  OptionSet add_choice(const std::string& name, const std::string& help);
  // Text below the options in the help: examples.
  void footer(const std::string& text);
  // --help becomes an ordinary flag, for a command whose help depends on its other options; the
  // command prints help_text() itself.
  Option add_help_flag(bool& target, const std::string& help);
  // Of this command, with its examples.
  std::string help_text() const;

 private:
  CLI::App* app_;
};

// The command line of the program. One thread only.
class Program {
 public:
  // `about` and `footer` stand in the help text; `version` answers --version.
  Program(const std::string& name, const std::string& about, const std::string& version,
          const std::string& footer);
  // Out of line: the library's type is not known here.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Its options must be added before parse().
  OptionSet add_command(const std::string& name, const std::string& summary);
  // Fills the targets. Gives an exit code where nothing is left to do: 0 after --help and
  // --version (text on stdout), 2 for wrong usage (its reason on stderr, stdout stays empty).
  std::optional<int> parse(int argc, char** argv);
  // After parsing: whether this command was chosen. Exactly one is.
  bool is_chosen(const std::string& command) const;

 private:
  // One sentence on what is wrong with the command line.
  std::string usage_error(const CLI::ParseError& error,
                          const std::vector<std::string>& arguments) const;
  bool has_command(std::string_view name) const;

  // And the names, for errors.
  std::unique_ptr<CLI::App> app_;
  std::vector<std::string> commands_;
};

}  // namespace quern::cli
