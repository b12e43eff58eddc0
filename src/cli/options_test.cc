// Tests of the command line: what reaches the targets, and what is refused with which text.
#include "cli/options.h"

#include <gtest/gtest.h>

#include <limits>

namespace quern::cli {
namespace {

// Everything that an option can be.
struct Targets {
  std::string model;
  std::string word = "a";
  int count = 3;
  int64_t signed_number = -1;
  uint64_t seed = 0;
  double factor = 0.5;
  std::optional<double> maybe;
  std::vector<std::string> list;
  uint64_t size = 0;
  int64_t jitter = 0;
  bool flag = false;
};

// A program with the command "go", and what parsing it gave.
class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    OptionSet go = program_.add_command("go", "Go.");
    go.add_option("MODEL", t_.model, "A file").required();
    go.add_option("--word", t_.word, "A word").one_of({"a", "b"}).show_default();
    go.add_option("--count", t_.count, "A count").range(0, 9).show_default();
    go.add_option("--signed", t_.signed_number, "A number");
    const Option seed = go.add_option("--seed", t_.seed, "A seed");
    go.add_option("--factor", t_.factor, "A factor").positive().group("Numbers");
    go.add_option("--maybe", t_.maybe, "Perhaps").non_negative();
    go.add_option("--list", t_.list, "Repeatable").repeatable();
    Option size = go.add_option("--size", t_.size, "A size").size_with_unit();
    go.add_flag("--flag", t_.flag, "A flag").excludes(size);
    go.add_option("--jitter", t_.jitter, "Of the seed").needs(seed);
    OptionSet input = go.add_choice("input", "One of two");
    text_ = input.add_option("--text", text_value_, "A text");
    input.add_option("--file", file_value_, "A file");
    stop_ = program_.add_command("stop", "Stop.");
  }
  // The exit code, or -1 where the command is to run. "--text x" is added: one is needed.
  int parse(std::vector<std::string> arguments, bool adds_text = true) {
    arguments.insert(arguments.begin(), "quern");
    if (adds_text) arguments.insert(arguments.end(), {"--text", "x"});
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const auto code = program_.parse(static_cast<int>(pointers.size()), pointers.data());
    out_ = testing::internal::GetCapturedStdout();
    error_ = testing::internal::GetCapturedStderr();
    return code.value_or(-1);
  }
  // The first line on stderr of a command line that must be refused.
  std::string refusal(std::vector<std::string> arguments, bool adds_text = true) {
    EXPECT_EQ(parse(std::move(arguments), adds_text), 2);
    EXPECT_EQ(out_, "");
    return error_.substr(0, error_.find('\n'));
  }

  Program program_{"quern", "About.", "quern 1.2", "Footer."};
  Targets t_;
  std::optional<Option> text_;
  std::optional<OptionSet> stop_;
  std::string text_value_;
  std::string file_value_;
  std::string out_;
  std::string error_;
};

// Defaults live in the targets, nowhere else.
TEST_F(OptionsTest, TargetsKeepTheirValuesWithoutOptions) {
  EXPECT_EQ(parse({"go", "m"}), -1);
  EXPECT_EQ(error_, "");
  EXPECT_TRUE(program_.is_chosen("go"));
  EXPECT_FALSE(program_.is_chosen("stop"));
  EXPECT_EQ(t_.model, "m");
  EXPECT_EQ(t_.count, 3);
  EXPECT_FALSE(t_.maybe);
  EXPECT_TRUE(text_->is_given());
}

// Both ends of each type, with '=' and without.
TEST_F(OptionsTest, ValuesReachTheirTargets) {
  EXPECT_EQ(parse({"go", "m", "--word", "b", "--count=9", "--signed", "-9223372036854775808",
                   "--seed", "18446744073709551615", "--factor", "2.5e-3", "--maybe", "0", "--list",
                   "p", "--list", "q,r", "--flag"}),
            -1)
      << error_;
  EXPECT_EQ(t_.word, "b");
  EXPECT_EQ(t_.count, 9);
  EXPECT_EQ(t_.signed_number, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(t_.seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(t_.factor, 2.5e-3);
  EXPECT_EQ(t_.maybe, 0.0);
  EXPECT_EQ(t_.list, (std::vector<std::string>{"p", "q,r"}));
  EXPECT_TRUE(t_.flag);
}

// The library would take the next argument as the value.
TEST_F(OptionsTest, NothingBehindAnEqualsSignIsAnEmptyText) {
  EXPECT_EQ(parse({"go", "m", "--list=", "--flag"}), -1) << error_;
  EXPECT_EQ(t_.list, (std::vector<std::string>{""}));
  EXPECT_TRUE(t_.flag);
}

// In either case, to the largest that fits.
TEST_F(OptionsTest, SizesHaveUnits) {
  const auto size = [this](const char* text) {
    EXPECT_EQ(parse({"go", "m", "--size", text}), -1) << error_;
    return t_.size;
  };
  EXPECT_EQ(size("1"), 1U);
  EXPECT_EQ(size("7b"), 7U);
  EXPECT_EQ(size("2K"), 2048U);
  EXPECT_EQ(size("3mb"), 3U << 20);
  EXPECT_EQ(size("4GiB"), uint64_t{4} << 30);
  EXPECT_EQ(size("8388607T"), uint64_t{8388607} << 40);
  for (const auto* text : {"0", "8388608T", "1Q", "K", "", "-1", "1.5G", "1 G", "1KK", "1iB"}) {
    EXPECT_EQ(
        refusal({"go", "m", "--size", text}),
        "quern: --size: '" + std::string(text) + "' is not a size over 0 such as 500M or 2G.");
  }
}

// The library beneath cuts numbers silently.
TEST_F(OptionsTest, NumbersMustFitTheirTargets) {
  EXPECT_EQ(refusal({"go", "m", "--count", "10"}),
            "quern: --count: '10' is not a whole number from 0 to 9.");
  EXPECT_EQ(refusal({"go", "m", "--count", "1e1"}),
            "quern: --count: '1e1' is not a whole number from 0 to 9.");
  EXPECT_EQ(refusal({"go", "m", "--signed", "9223372036854775808"}),
            "quern: --signed: '9223372036854775808' is not a whole number of 64 bits.");
  EXPECT_EQ(refusal({"go", "m", "--seed", "18446744073709551616"}),
            "quern: --seed: '18446744073709551616' is not a whole number from 0 to "
            "18446744073709551615.");
  EXPECT_EQ(refusal({"go", "m", "--factor", "0"}), "quern: --factor: '0' is not a number over 0.");
  EXPECT_EQ(refusal({"go", "m", "--factor", "nan"}),
            "quern: --factor: 'nan' is not a number over 0.");
  EXPECT_EQ(refusal({"go", "m", "--factor", "1,5"}), "quern: --factor: '1,5' is not a number.");
  EXPECT_EQ(refusal({"go", "m", "--maybe", "-0.5"}),
            "quern: --maybe: '-0.5' is not a number from 0 up.");
  EXPECT_EQ(refusal({"go", "m", "--word", "c"}), "quern: --word: 'c' is not one of a, b.");
}

// One row for each way to be wrong.
TEST_F(OptionsTest, TheFormOfTheLineIsChecked) {
  EXPECT_EQ(refusal({}, false), "quern: No command was given.");
  EXPECT_EQ(refusal({"fly"}, false),
            "quern: There is no command 'fly'; the commands are go, stop.");
  EXPECT_EQ(refusal({"go"}), "quern: MODEL is required.");
  EXPECT_EQ(refusal({"go", "m", "n"}), "quern: The following argument was not expected: n.");
  EXPECT_EQ(refusal({"go", "m", "--count"}, false), "quern: --count needs a value.");
  EXPECT_EQ(refusal({"go", "m", "--flag", "--size", "1"}), "quern: --size excludes --flag.");
  // Before what is missing: MODEL and one of the choice are.
  EXPECT_EQ(refusal({"go", "--flga"}, false), "quern: There is no option '--flga'.");
  EXPECT_EQ(refusal({"--flga=3"}, false), "quern: There is no option '--flga'.");
  EXPECT_EQ(refusal({"go", "m", "--jitter", "1"}), "quern: --jitter requires --seed.");
  EXPECT_EQ(refusal({"go", "m"}, false),
            "quern: Exactly 1 option from [--text,--file] is required.");
  EXPECT_EQ(refusal({"go", "m", "--file", "f"}),
            "quern: Exactly 1 option from [--text,--file] is required and 2 were given.");
  EXPECT_EQ(error_.substr(error_.find('\n') + 1), "'quern go --help' shows what there is.\n");
}

// Exit code 0 and text on stdout.
TEST_F(OptionsTest, HelpAndVersionAreAnswers) {
  EXPECT_EQ(parse({"--version"}, false), 0);
  EXPECT_EQ(out_, "quern 1.2\n");
  EXPECT_EQ(parse({"--help"}, false), 0);
  EXPECT_NE(out_.find("Footer."), std::string::npos);
  EXPECT_EQ(parse({"go", "--help"}, false), 0);
  EXPECT_EQ(error_, "");
  for (const auto* part : {"--count INT:in [0 - 9]=3", "{a,b}", "Numbers", "A factor"}) {
    EXPECT_NE(out_.find(part), std::string::npos) << part << "\n" << out_;
  }
}

// A command that prints its own help says how it is called, as the others do.
TEST_F(OptionsTest, HelpOfACommandBeginsWithTheProgram) {
  bool is_help = false;
  stop_->add_help_flag(is_help, "Help");
  EXPECT_NE(stop_->help_text().find("Usage: quern stop [OPTIONS]"), std::string::npos)
      << stop_->help_text();
}

}  // namespace
}  // namespace quern::cli
