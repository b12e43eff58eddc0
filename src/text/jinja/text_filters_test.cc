// Filters of texts, and what is escaped when.
#include "support/render_cases.h"

namespace quern::test {
namespace {

// Jinja's own rule, not Python's.
TEST(TextFilters, TitleBeginsWordsAfterSpaceAndBrackets) {
  expect_values({
      {"''|title", ""},
      {"'a'|title", "A"},
      {"'hello world'|title", "Hello World"},
      {"'HELLO WORLD'|title", "Hello World"},
      {"'it\\'s'|title", "It's"},
      {"'a-b c_d'|title", "A-B C_d"},
      {"'(x) [y] {z} <w>'|title", "(X) [Y] {Z} <W>"},
      {"'x.y'|title", "X.y"},
      {"'3rd place'|title", "3rd Place"},
      {"'élan vital'|title", "Élan Vital"},
      {"'日本 x'|title", "日本 X"},
      {"'a  b'|title", "A  B"},
      {"'\\ta\\nb'|title", "\tA\nB"},
      // The filter joins upper() of the first character and lower() of the rest, and upper ﬁ is FI.
      {"'ﬁn ﬂ'|title", "FIn FL"},
      // An apostrophe is inside of a word, other than for str.title().
      {"'o\\'neill'|title", "O'neill"},
      {"'ǆ x'|title", "Ǆ X"},
      {"'mIxEd cAsE'|title", "Mixed Case"},
      {"'a/b'|title", "A/b"},
  });
}

// Numbers and none become text first.
TEST(TextFilters, CaseFiltersTakeAnyValue) {
  expect_values({
      {"none|upper", "NONE"},
      {"true|upper", "TRUE"},
      {"1.5|upper", "1.5"},
      {"['a', 'B']|upper", "['A', 'B']"},
      {"{'k': 'V'}|upper", "{'K': 'V'}"},
      {"('x',)|upper", "('X',)"},
      {"none|lower", "none"},
      {"true|lower", "true"},
      {"1.5|lower", "1.5"},
      {"['a', 'B']|lower", "['a', 'b']"},
      {"{'k': 'V'}|lower", "{'k': 'v'}"},
      {"('x',)|lower", "('x',)"},
      {"none|capitalize", "None"},
      {"true|capitalize", "True"},
      {"1.5|capitalize", "1.5"},
      {"['a', 'B']|capitalize", "['a', 'b']"},
      {"{'k': 'V'}|capitalize", "{'k': 'v'}"},
      {"('x',)|capitalize", "('x',)"},
      {"none|title", "None"},
      {"true|title", "True"},
      {"1.5|title", "1.5"},
      {"['a', 'B']|title", "['a', 'b']"},
      {"{'k': 'V'}|title", "{'k': 'v'}"},
      {"('x',)|title", "('x',)"},
  });
}

// Whitespace, or given characters.
TEST(TextFilters, Trim) {
  expect_values({
      {"'[' ~ ('  a  '|trim) ~ ']'", "[a]"},
      {"'[' ~ ('xax'|trim('x')) ~ ']'", "[a]"},
      {"'[' ~ ('xyay'|trim('yx')) ~ ']'", "[a]"},
      {"'[' ~ ('\\n\\t a'|trim) ~ ']'", "[a]"},
      {"'[' ~ (5|trim) ~ ']'", "[5]"},
      {"'[' ~ (' 5 '|trim(' ')) ~ ']'", "[5]"},
      {"'[' ~ ('aaa'|trim('a')) ~ ']'", "[]"},
      {"'[' ~ ('a'|trim('')) ~ ']'", "[a]"},
      {"'[' ~ (' a '|trim(none)) ~ ']'", "[a]"},
      {"'[' ~ (' a '|trim(chars=' ')) ~ ']'", "[a]"},
      {"'\u2003a\u2003'|trim", "a"},
      {"none|trim", "None"},
      {"missing|trim", ""},
  });
  expect_refused({
      "'a'|trim(1)",
  });
}

// With an optional count.
TEST(TextFilters, ReplaceTurnsArgumentsIntoText) {
  expect_values({
      {"'a1a'|replace(1, 2)", "a2a"},
      {"'aaa'|replace('a', 'b', 0)", "aaa"},
      {"'aaa'|replace('a', 'b', 1)", "baa"},
      {"'aaa'|replace('a', 'b', none)", "bbb"},
      {"'aaa'|replace('a', 'b', -1)", "bbb"},
      {"123|replace('2', '-')", "1-3"},
      {"none|replace('N', 'n')", "none"},
      {"[1, 2]|replace(', ', ';')", "[1;2]"},
      {"'abc'|replace('', '.')", ".a.b.c."},
      {"''|replace('', '.')", "."},
      {"'abc'|replace('c', none)", "abNone"},
      {"'<a>'|safe|replace('a', '<')", "<<>"},
      {"'<a>'|replace('<', '&lt;'|safe)", "&lt;a>"},
      {"'aXa'|replace(old='X', new='-')", "a-a"},
  });
  expect_refused({
      "'a'|replace('a')",
  });
}

// And blank lines, unless asked.
TEST(TextFilters, IndentLeavesTheFirstLine) {
  expect_values({
      {"'a\\nb\\nc'|indent", "a\n    b\n    c"},
      {"'a\\nb'|indent(2)", "a\n  b"},
      {"'a\\nb'|indent(0)", "a\nb"},
      {"'a\\nb'|indent(-2)", "a\nb"},
      {"'a\\nb'|indent('> ')", "a\n> b"},
      {"'a\\nb'|indent('')", "a\nb"},
      {"'a\\n\\nb'|indent(2)", "a\n\n  b"},
      {"'a\\n\\nb'|indent(2, blank=true)", "a\n  \n  b"},
      {"'a\\n\\nb'|indent(2, first=true)", "  a\n\n  b"},
      {"'a\\nb\\n'|indent(2)", "a\n  b\n"},
      {"'a\\nb\\n'|indent(2, true, true)", "  a\n  b\n  "},
      {"''|indent", ""},
      {"''|indent(2, true)", "  "},
      {"'a'|indent(3, true)", "   a"},
      {"'\\n'|indent(1, true)", " \n"},
      {"'a\\r\\nb'|indent(1)", "a\n b"},
      {"'a\\nb'|indent(width=1)", "a\n b"},
  });
  expect_refused({
      "5|indent",
      "none|indent",
      "['a']|indent",
      "'a\\nb'|indent(1.5)",
  });
}

// Safe texts are not escaped again; what joins them is.
TEST(TextFilters, EscapeIsDoneOnce) {
  expect_values({
      {"'<a href=\"x\">&\\'</a>'|escape", "&lt;a href=&#34;x&#34;&gt;&amp;&#39;&lt;/a&gt;"},
      {"'<'|e|e", "&lt;"},
      {"'<'|e|forceescape", "&amp;lt;"},
      {"'<'|safe", "<"},
      {"'<'|safe|e", "<"},
      {"'<'|safe|forceescape", "&lt;"},
      {"5|e", "5"},
      {"none|e", "None"},
      {"['<']|e", "[&#39;&lt;&#39;]"},
      // ~ joins texts without escaping, as autoescape is off; + is Markup's own and escapes the
      // other side.
      {"('<'|e) ~ '<'", "&lt;<"},
      {"('<'|e) + '<'", "&lt;&lt;"},
      {"'<' + ('<'|e)", "&lt;&lt;"},
      {"('<'|e) * 2", "&lt;&lt;"},
      {"('%s'|safe) % '<'", "&lt;"},
      {"('<'|e)|upper", "&LT;"},
      {"('<'|e)|length", "4"},
      {"('<'|safe)|string", "<"},
      {"('<'|safe) is escaped", "True"},
      {"'<' is escaped", "False"},
      {"('<'|safe|upper) is escaped", "True"},
      {"('a'|safe).upper() is escaped", "True"},
      {"('a'|safe)[0] is escaped", "True"},
      {"['<'|safe, '<']|join", "<<"},
      {"['<'|safe]|join('<')", "<"},
  });
}

// In every script.
TEST(TextFilters, WordcountCountsRunsOfWordCharacters) {
  expect_values({
      {"''|wordcount", "0"},
      {"'a'|wordcount", "1"},
      {"'a b'|wordcount", "2"},
      {"'a-b'|wordcount", "2"},
      {"'it\\'s'|wordcount", "2"},
      {"'  '|wordcount", "0"},
      {"'a_b'|wordcount", "1"},
      {"'é日'|wordcount", "1"},
      {"'1 2.5'|wordcount", "3"},
      {"'a\\nb\\tc'|wordcount", "3"},
      {"'...'|wordcount", "0"},
      {"'a,b;c'|wordcount", "3"},
      {"'x² y½'|wordcount", "2"},
      {"5|wordcount", "1"},
      {"none|wordcount", "1"},
      {"[1, 22]|wordcount", "2"},
  });
}

// The width counts characters.
TEST(TextFilters, CenterAndFormat) {
  expect_values({
      {"'[' ~ ('a'|center(4)) ~ ']'", "[ a  ]"},
      {"'[' ~ ('ab'|center(5)) ~ ']'", "[  ab ]"},
      {"'[' ~ ('abc'|center(2)) ~ ']'", "[abc]"},
      {"'a'|center|length", "80"},
      {"5|center(3) ~ '|'", " 5 |"},
      {"'%s-%s'|format('a', 1)", "a-1"},
      {"'%(x)s'|format(x=3)", "3"},
      {"'plain'|format", "plain"},
      {"'%.2f'|format(1)", "1.00"},
      {"'%5s|'|format('é')", "    é|"},
  });
  expect_refused({
      "'%s'|format('a', 'b')",
      "'%s %s'|format('a')",
      "'%s %(x)s'|format('a', x=1)",
      "'%d'|format('a')",
  });
}

// And their safety.
TEST(TextFilters, StringKeepsStrings) {
  expect_values({
      {"'a'|string", "a"},
      {"1|string", "1"},
      {"1.0|string", "1.0"},
      {"true|string", "True"},
      {"none|string", "None"},
      {"[]|string", "[]"},
      {"['a']|string", "['a']"},
      {"()|string", "()"},
      {"(1,)|string", "(1,)"},
      {"{}|string", "{}"},
      {"{'a': [1]}|string", "{'a': [1]}"},
      {"1e20|string", "1e+20"},
      {"-0.0|string", "-0.0"},
      {"1e-7|string", "1e-07"},
  });
}

}  // namespace
}  // namespace quern::test
