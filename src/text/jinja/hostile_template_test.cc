// Templates that try to take all time, memory or stack are stopped within a second.
#include <gtest/gtest.h>

#include <ctime>

#include "text/chat_template.h"

namespace quern {
namespace {

// Sanitizers slow the code down.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlowness = 10;
#else
constexpr double kSlowness = 1;
#endif

// The text `count` times.
std::string repeat(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

Error parse_and_render(const std::string& source) {
  const auto chat_template = ChatTemplate::parse(source);
  if (!chat_template) return chat_template.error();
  const auto text = chat_template->render(ChatInputs());
  return text ? Error{ErrorCode::kInternal, "no error"} : text.error();
}

// The error of a template that must fail within a second. Of the processor's time, since the
// machine that tests may be busy, and the best of three, since neighbours on its core and new
// memory cost processor time too.
Error render_error(const std::string& source) {
  constexpr int kTries = 3;
  constexpr double kMostSeconds = 1.0 * kSlowness;
  Error error;
  double seconds = kMostSeconds;
  for (int i = 0; i < kTries && seconds >= kMostSeconds; ++i) {
    const std::clock_t begin = std::clock();
    error = parse_and_render(source);
    seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  }
  EXPECT_LT(seconds, kMostSeconds) << source.substr(0, 200);
  return error;
}

// The template must end at a limit, and soon.
void expect_exhausted(const std::string& source) {
  const Error error = render_error(source);
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted)
      << source.substr(0, 200) << "\n  " << error.message;
}

// Each inner loop multiplies the rounds by 100,000.
constexpr std::string_view kLoop = "{% for a in range(100000) %}";
constexpr std::string_view kEnd = "{% endfor %}";

// 10^20 rounds with an empty body: each round must cost a step by itself. A range counts its
// numbers before it makes them, also where their count does not fit in 64 bits.
TEST(HostileTemplate, EndlessLoopsStop) {
  expect_exhausted(repeat(kLoop, 4) + repeat(kEnd, 4));
  expect_exhausted(repeat(kLoop, 2) + "{% set x = 1 %}" + repeat(kEnd, 2));
  expect_exhausted("{{ range(10 ** 12) }}");
  expect_exhausted("{{ range(-9223372036854775807, 9223372036854775807) }}");
}

// A macro that calls itself, one that does so twice (2^n calls at depth n), two that call each
// other through a loop and a filter, and one through the body of a call block.
TEST(HostileTemplate, EndlessRecursionStops) {
  expect_exhausted("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
  expect_exhausted("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}");
  expect_exhausted(
      "{% macro a(n) %}{% if true %}{{ b(n + 1) ~ 'x' }}{% endif %}{% endmacro %}"
      "{% macro b(n) %}{% for i in [1] %}{{ a(n) | upper }}{% endfor %}{% endmacro %}"
      "{{ a(1) }}");
  expect_exhausted(
      "{% macro m() %}{{ caller() }}{% endmacro %}"
      "{% macro n() %}{% call m() %}{{ n() }}{% endcall %}{% endmacro %}{{ n() }}");
}

// map('map', 'map', ..., 'upper') calls filters from filters without any nesting of the source.
TEST(HostileTemplate, FiltersThatApplyThemselvesStop) {
  expect_exhausted("{{ 'a' | map(" + repeat("'map', ", 50'000) + "'upper') | list }}");
  expect_exhausted("{{ ('a' * 100000) | map(" + repeat("'map', ", 300) + "'upper') | list }}");
}

// Each level holds 4 MB of output that nobody has seen yet: the limit on output alone comes too
// late.
TEST(HostileTemplate, NestedCapturesStop) {
  expect_exhausted(
      "{% set s = 'x' * 4000000 %}{% macro m() %}{{ s }}{{ m() }}{% endmacro %}{{ m() }}");
}

// Every construct that the parser reads by recursion, and chains (.b.b.b) that a loop reads but
// that make a tree as deep as they are long: rendering and freeing it would recurse.
TEST(HostileTemplate, DeepSourceStops) {
  constexpr size_t kDepth = 100'000;
  const std::vector<std::pair<std::string_view, std::string_view>> nests = {
      {"(", ")"},    {"[", "]"},           {"{1:", "}"},     {"f(", ")"},
      {"a[", "]"},   {"x|f(", ")"},        {"-", ""},        {"not ", ""},
      {"1 if ", ""}, {"1 if 1 else ", ""}, {"x is f(", ")"}, {"f(a=", ")"}};
  for (const auto& [open, close] : nests) {
    expect_exhausted("{{ " + repeat(open, kDepth) + "1" + repeat(close, kDepth) + " }}");
  }
  expect_exhausted("{{ a" + repeat(".b", kDepth) + " }}");
  expect_exhausted("{{ a" + repeat("[0]", kDepth) + " }}");
  expect_exhausted("{{ a" + repeat("()", kDepth) + " }}");
  expect_exhausted("{{ a" + repeat("|e", kDepth) + " }}");
  expect_exhausted("{{ a" + repeat(" is string == a", 200) + repeat(".b", kDepth) + " }}");
  expect_exhausted("{{ a" + repeat(" if a", kDepth) + " }}");
  expect_exhausted(repeat("{% if 1 %}", 50'000));
  expect_exhausted(repeat("{% filter e %}", 50'000));
  expect_exhausted("{% set " + repeat("(", kDepth) + "a" + repeat(")", kDepth) + " = 1 %}");
  // Trees whose parts are each within the limit.
  std::string expression = "a";
  for (int i = 0; i < 100; ++i) expression = "(" + expression + repeat(".b", 100) + ")";
  expect_exhausted("{{ " + expression + " }}");
}

// A sum of 10,000 terms is a list, not a tree, and so within every limit. 10001 has five digits.
TEST(HostileTemplate, LongFlatSourceIsFine) {
  const auto chat_template = ChatTemplate::parse("{{ 1" + repeat(" + 1", 10'000) + " }}{{ ''" +
                                                 repeat(" ~ 'a'", 10'000) + " }}");
  ASSERT_TRUE(chat_template) << chat_template.error().message;
  const auto text = chat_template->render(ChatInputs());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->size(), 5u + 10'000u);
}

// Each operation that makes a value larger than its operands: repetition, doubling in a loop,
// padding, filling, indentation, replacement and joining.
TEST(HostileTemplate, HugeValuesStop) {
  expect_exhausted("{{ 'x' * 10 ** 15 }}");
  expect_exhausted("{{ [1] * 10 ** 15 }}");
  expect_exhausted("{{ 9223372036854775807 * 'xy' }}");
  expect_exhausted("{% set ns = namespace(s='x') %}" + std::string(kLoop) +
                   "{% set ns.s = ns.s + ns.s %}" + std::string(kEnd));
  expect_exhausted("{% set ns = namespace(s=[1]) %}" + std::string(kLoop) +
                   "{% set ns.s = ns.s + ns.s %}" + std::string(kEnd));
  expect_exhausted("{{ 'x' | center(10 ** 12) }}");
  expect_exhausted("{{ 'x'.ljust(10 ** 12) }}");
  expect_exhausted("{{ 'x'.zfill(10 ** 18) }}");
  expect_exhausted("{{ 'x' | indent(10 ** 12, true) }}");
  expect_exhausted("{{ [1] | batch(10 ** 12, 'x') | list }}");
  expect_exhausted("{{ [1] | slice(10 ** 12, 'x') | list }}");
  expect_exhausted("{{ [[1]] | tojson(indent=10 ** 12) }}");
  expect_exhausted("{{ ('a' * 100000) | replace('', 'b' * 100000) }}");
  expect_exhausted("{{ ('a' * 100000) | replace('a', 'b' * 100000) }}");
  expect_exhausted("{{ range(100000) | join('b' * 100000) }}");
  expect_exhausted("{{ ('b' * 100000).join(range(100000) | map('string')) }}");
}

// Text costs as output and as a captured block.
TEST(HostileTemplate, HugeOutputsStop) {
  expect_exhausted("{% set s = 'x' * 1000000 %}" + std::string(kLoop) + "{{ s }}" +
                   std::string(kEnd));
  expect_exhausted(repeat(kLoop, 2) + "text" + repeat(kEnd, 2));
  expect_exhausted("{% set x %}" + repeat(kLoop, 2) + "text" + repeat(kEnd, 2) + "{% endset %}");
}

// Values that hold themselves many times over are small until they are written out.
// Sixty times a list of the same list twice: 61 lists, and 2^60 items to whoever walks them all.
TEST(HostileTemplate, SharedValuesStop) {
  std::string source = "{% set a = [1] %}";
  for (int i = 0; i < 60; ++i) source += "{% set a = [a, a] %}";
  expect_exhausted(source + "{{ a }}");
  expect_exhausted(source + "{{ a | tojson }}");
  std::string other = "{% set b = [1] %}";
  for (int i = 0; i < 60; ++i) other += "{% set b = [b, b] %}";
  expect_exhausted(source + other + "{{ a == b }}");
  expect_exhausted(source + other + "{{ a < b }}");
}

// Python prints such a list as [...]; here the depth limit stops the walk.
TEST(HostileTemplate, ValuesThatHoldThemselvesStop) {
  const std::string cycle = "{% set a = [] %}{% do a.append(a) %}";
  for (const std::string use : {"{{ a }}", "{{ a | tojson }}", "{{ a | string }}", "{{ a ~ a }}"}) {
    const Error error = render_error(cycle + use);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << use << error.message;
    EXPECT_NE(error.message.find("nests over 100 levels"), std::string::npos) << error.message;
  }
  const Error compared = render_error(cycle + "{% set b = [] %}{% do b.append(b) %}{{ a == b }}");
  EXPECT_NE(compared.message.find("nests over 100 levels"), std::string::npos);
  const Error nested = render_error("{% set ns = namespace(a=[]) %}" + std::string(kLoop) +
                                    "{% set ns.a = [ns.a] %}" + std::string(kEnd) + "{{ ns.a }}");
  EXPECT_NE(nested.message.find("nests over 100 levels"), std::string::npos) << nested.message;
  EXPECT_EQ(render_error("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}").code,
            ErrorCode::kInvalidArgument);
}

// Each expression stands in 10^10 rounds, and most of them walk a text of 10 MB or a list of 99,999
// numbers: at one step for the whole walk, the limit on steps would take hours to reach.
TEST(HostileTemplate, SlowOperationsStop) {
  const std::string text = "{% set s = ('ab' * 5000000) + 'c' %}";
  const auto looped = [&](const std::string& body) {
    return text + repeat(kLoop, 2) + body + repeat(kEnd, 2);
  };
  for (const std::string expression : {"s | length",
                                       "s | upper | length",
                                       "s[3]",
                                       "s[1:] | length",
                                       "s.find('z')",
                                       "'z' in s",
                                       "s == s ~ ''",
                                       "s.split('z') | length",
                                       "s | wordcount",
                                       "s.strip('abc')",
                                       "s | e | length",
                                       "s | tojson | length",
                                       "s.count('b')",
                                       "s.isalpha()",
                                       "s.replace('z', 'y') | length",
                                       "{s: 1}[s]",
                                       "s < s ~ 'd'",
                                       "s | int",
                                       "s | float",
                                       "s.splitlines() | length",
                                       "s | title | length",
                                       "'%s' % s == 1",
                                       "'{}'.format(s) == 1",
                                       "s.format() == 1",
                                       "s is lower",
                                       "s | trim | length",
                                       "s | indent | length",
                                       "s | string | length",
                                       "s.startswith(s)",
                                       "s | reverse | length",
                                       "s | center(9) | length",
                                       "s is in [s ~ 'd']"}) {
    expect_exhausted(looped("{{ " + expression + " }}"));
  }
  for (const std::string expression :
       {"r | sort | length", "r | reverse | list | length", "r | sum", "r | max",
        "r | list | length", "r | unique | list | length", "r | map('string') | list | length",
        "r | join | length", "5 in r", "r | select('odd') | list | length", "r[1:] | length",
        "r == r", "r | batch(3) | list | length", "r | tojson"}) {
    expect_exhausted("{% set r = range(99999) | list %}" + repeat(kLoop, 2) + "{{ " + expression +
                     " }}" + repeat(kEnd, 2));
  }
}

// A name that is not there is looked for 100,000 times among 30,000.
TEST(HostileTemplate, ManyVariablesStop) {
  std::string source;
  for (int i = 0; i < 30'000; ++i) source += "{% set v" + std::to_string(i) + " = 1 %}";
  source += repeat(kLoop, 1) + "{{ missing }}" + repeat(kEnd, 1);
  expect_exhausted(source);
}

TEST(HostileTemplate, LongSourceIsRefused) {
  expect_exhausted(std::string(ChatTemplate::kMaxSourceBytes + 1, 'x'));
}

// 10,000 lists in one another, as a request could send them.
TEST(HostileTemplate, DeepMessagesAreRefused) {
  nlohmann::ordered_json deep = 1;
  for (int i = 0; i < 10'000; ++i) deep = nlohmann::ordered_json::array({std::move(deep)});
  ChatInputs inputs;
  inputs.messages = std::move(deep);
  const auto text = ChatTemplate::parse("{{ messages }}")->render(inputs);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
}

// Ten bytes of output are allowed and eleven are not; then steps and memory, each alone.
TEST(HostileTemplate, LimitsAreTheCallers) {
  ChatInputs inputs;
  inputs.limits.max_output_bytes = 10;
  const auto chat_template = ChatTemplate::parse("{% for i in range(n) %}x{% endfor %}");
  ASSERT_TRUE(chat_template);
  inputs.extra = {{"n", 10}};
  EXPECT_EQ(*chat_template->render(inputs), "xxxxxxxxxx");
  inputs.extra = {{"n", 11}};
  EXPECT_EQ(chat_template->render(inputs).error().code, ErrorCode::kResourceExhausted);
  inputs.limits = {};
  inputs.limits.max_steps = 100;
  inputs.extra = {{"n", 1000}};
  EXPECT_EQ(chat_template->render(inputs).error().code, ErrorCode::kResourceExhausted);
  inputs.limits = {};
  inputs.limits.max_bytes = 1000;
  EXPECT_EQ(chat_template->render(inputs).error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace quern
