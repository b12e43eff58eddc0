// What a person reads when a template fails: place, object, value, limit.
#include <gtest/gtest.h>

#include "text/chat_template.h"

namespace quern {
namespace {

// A template and the end of its error.
struct Case {
  std::string source;
  std::string message;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

// Each template must fail with its words and its place.
void expect_errors(const std::vector<Case>& cases) {
  for (const Case& test : cases) {
    ChatInputs inputs;
    inputs.extra = {{"d", {{"a", 1}}}, {"xs", {1, 2}}, {"s", "text"}, {"n", 5}};
    Error error{ErrorCode::kInternal, "no error"};
    auto chat_template = ChatTemplate::parse(test.source);
    if (chat_template) {
      const auto text = chat_template->render(inputs);
      if (!text) error = text.error();
    } else {
      error = chat_template.error();
    }
    EXPECT_EQ(error.message, "Chat template, " + test.message) << test.source;
    EXPECT_EQ(error.code, test.code) << test.source;
  }
}

// Found while parsing, before anything is rendered. The column is that of what is wrong, or of the
// begin of what has no end.
TEST(JinjaErrors, OfTheSource) {
  expect_errors({
      {"{{ 1", "line 1, column 1: The tag has no end '}}'."},
      {"a\n{% if", "line 2, column 1: The tag has no end '%}'."},
      {"{# x", "line 1, column 1: The comment has no end '#}'."},
      {"{% raw %}x", "line 1, column 1: The block 'raw' has no end '{% endraw %}'."},
      {"{{ 'a }}", "line 1, column 4: The string has no end."},
      {"{{ '\\xZ' }}", "line 1, column 4: The escape '\\xZ' is broken."},
      {"{{ 1 ? 2 }}", "line 1, column 6: The character '?' has no meaning here."},
      {"{{ (1] }}", "line 1, column 6: ']' closes nothing."},
      {"{{ 99999999999999999999 }}",
       "line 1, column 4: The number 99999999999999999999 does not fit in 64 bits."},
      {"{{ 1 + }}", "line 1, column 8: Expected an expression, found '}}'."},
      {"{{ a b }}", "line 1, column 6: Expected '}}', found 'b'."},
      {"{{ a. }}", "line 1, column 7: Expected a name or number after '.', found '}}'."},
      {"{{ a| }}", "line 1, column 7: Expected the name of a filter, found '}}'."},
      {"{{ a is }}", "line 1, column 9: Expected the name of a test, found '}}'."},
      {"{% 1 %}", "line 1, column 4: Expected the name of a tag, found a number."},
      {"{% nope %}", "line 1, column 4: The tag 'nope' does not exist here."},
      {"{% endif %}", "line 1, column 4: The tag 'endif' does not exist here."},
      {"{% if 1 %}x", "line 1, column 12: Expected '{% endif %}', found the end of the template."},
      {"{% for x of y %}", "line 1, column 10: Expected 'in', found 'of'."},
      {"{% break %}", "line 1, column 10: The tag 'break' stands outside of a loop."},
      {"{% set true = 1 %}", "line 1, column 8: 'true' cannot be assigned to."},
      {"{% macro m(a=1, b) %}{% endmacro %}",
       "line 1, column 17: Parameter 'b' has no default and follows one with."},
      {"{% call 1 %}{% endcall %}", "line 1, column 9: The tag 'call' needs a call."},
      {"{% include 'x' %}", "line 1, column 4: Chat templates cannot use the tag 'include'.",
       ErrorCode::kUnimplemented},
      {"{% for x in y recursive %}{% endfor %}",
       "line 1, column 15: Chat templates cannot use recursive loops.", ErrorCode::kUnimplemented},
  });
}

// Each sentence says where the missing value should have come from: a name, a member, an index, a
// branch or a parameter, and the place is where it was used.
TEST(JinjaErrors, OfUndefinedValues) {
  expect_errors({
      {"{{ nope.x }}", "line 1, column 8: 'nope' is undefined."},
      {"{{ d.nope.x }}", "line 1, column 10: 'dict object' has no attribute 'nope'."},
      {"{{ xs[7] + 1 }}", "line 1, column 4: list object has no element 7."},
      {"{{ none.x.y }}", "line 1, column 10: 'None' has no attribute 'x'."},
      {"{{ nope() }}", "line 1, column 4: 'nope' is undefined."},
      {"{{ s.nope() }}", "line 1, column 5: 'str object' has no attribute 'nope'."},
      {"{{ nope | tojson }}",
       "line 1, column 11: 'nope' is undefined, and JSON has no undefined value."},
      {"{{ (1 if false) + 1 }}",
       "line 1, column 4: an inline 'if' without 'else' has a false condition."},
      {"{% macro m(a) %}{{ a + 1 }}{% endmacro %}{{ m() }}",
       "line 1, column 20: parameter 'a' was not provided."},
  });
}

// With Python's names of the types, which writers of templates know.
TEST(JinjaErrors, OfTypes) {
  expect_errors({
      {"{{ s + 1 }}", "line 1, column 4: '+' does not work between the types 'str' and 'int'."},
      {"{{ s < 1 }}", "line 1, column 4: Values of the types 'str' and 'int' have no order."},
      {"{{ 1 in 2 }}", "line 1, column 4: A value of type 'int' cannot be searched with 'in'."},
      {"{{ -s }}", "line 1, column 4: A value of type 'str' has no sign."},
      {"{{ n() }}", "line 1, column 4: A value of type 'int' cannot be called."},
      {"{{ n | length }}", "line 1, column 8: A value of type 'int' has no length."},
      {"{% for x in n %}{% endfor %}",
       "line 1, column 1: A value of type 'int' cannot be iterated over."},
      {"{% for a, b in [xs + [3]] %}{% endfor %}",
       "line 1, column 1: 3 values cannot be assigned to 2 names."},
      {"{% set d.x = 1 %}",
       "line 1, column 1: 'd' is not a namespace; its attributes cannot be set."},
      {"{{ {[]: 1} }}", "line 1, column 4: A value of type 'list' cannot be a key of a dict."},
      {"{{ range | tojson }}",
       "line 1, column 12: A value of type 'function' cannot be written as JSON."},
      {"{{ s.split('') }}", "line 1, column 5: The separator of split is empty."},
      {"{{ n[1:] }}", "line 1, column 5: A value of type 'int' has no slices."},
      {"{{ xs[::0] }}", "line 1, column 6: The step of a slice is 0."},
  });
}

// The text of raise_exception is the template's own and gets no second full stop.
TEST(JinjaErrors, OfCalls) {
  expect_errors({
      {"{{ s | nope }}", "line 1, column 8: There is no filter 'nope'."},
      {"{{ s is nope }}", "line 1, column 9: There is no test 'nope'."},
      {"{{ s | replace('a') }}", "line 1, column 8: replace needs argument 'new'."},
      {"{{ s | trim(x=1) }}", "line 1, column 8: trim has no parameter 'x'."},
      {"{{ s | trim('a', chars='b') }}", "line 1, column 8: trim gets argument 'chars' twice."},
      {"{{ s.split('a', 'b') }}",
       "line 1, column 5: Argument 'maxsplit' of split is of type 'str'; it must be an integer."},
      {"{{ s.find(1) }}",
       "line 1, column 5: Argument 'sub' of a method is of type 'int'; it must be a string."},
      {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
       "line 1, column 34: The macro 'm' takes at most 1 arguments and gets 2."},
      {"{% macro m(a) %}{% endmacro %}{{ m(b=2) }}",
       "line 1, column 34: The macro 'm' has no parameter 'b'."},
      {"{{ '%d' % s }}", "line 1, column 4: The format 'd' does not fit a value of type 'str'."},
      {"{{ raise_exception('No!') }}", "line 1, column 4: No!"},
      {"{{ raise_exception('Roles must alternate...') }}",
       "line 1, column 4: Roles must alternate..."},
  });
}

// Python's integers have no end; ours are of 64 bits, and what does not fit is refused, never
// wrapped.
TEST(JinjaErrors, OfNumbersAndLimits) {
  expect_errors({
      {"{{ 1 / 0 }}", "line 1, column 4: Division by zero."},
      {"{{ 9223372036854775807 + 1 }}",
       "line 1, column 4: The result of '+' does not fit in 64 bits."},
      {"{{ 10 ** 19 }}", "line 1, column 4: The result of '**' does not fit in 64 bits."},
      {"{{ range(1000000) }}", "line 1, column 4: range gives over 100000 numbers.",
       ErrorCode::kResourceExhausted},
      {"{{ 'x' * 1000000000 }}", "line 1, column 4: The template takes over 256 MiB of memory.",
       ErrorCode::kResourceExhausted},
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
       "line 1, column 19: The template's calls nest over 400 levels deep.",
       ErrorCode::kResourceExhausted},
  });
}

TEST(JinjaErrors, LongWordsAreCut) {
  const auto text =
      ChatTemplate::parse("{{ raise_exception('é' * 100000) }}")->render(ChatInputs());
  ASSERT_FALSE(text);
  // About 2,000 bytes are kept of 200,000.
  EXPECT_LT(text.error().message.size(), 2'200u);
  EXPECT_GT(text.error().message.size(), 1'900u);
}

}  // namespace
}  // namespace quern
