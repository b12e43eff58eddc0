// Methods that look into a string or take it apart, and its predicates.
#include "support/render_cases.h"

namespace quern::test {
namespace {

// Runs of any whitespace, with and without a limit.
TEST(StringSearch, SplitOnSpace) {
  expect_values({
      {"''.split()", "[]"},
      {"'   '.split()", "[]"},
      {"'a'.split()", "['a']"},
      {"' a  b '.split()", "['a', 'b']"},
      {"'a\\tb\\nc\015d'.split()", "['a', 'b', 'c', 'd']"},
      {"'a\u00a0b\u2003c'.split()", "['a', 'b', 'c']"},
      {"'a b c d'.split(none)", "['a', 'b', 'c', 'd']"},
      {"'a b c d'.split(none, 0)", "['a b c d']"},
      {"'  a b c d'.split(none, 1)", "['a', 'b c d']"},
      // The rest keeps its spaces at the end; those before it are gone.
      {"'a b c d  '.split(none, 2)", "['a', 'b', 'c d  ']"},
      {"'a b c d'.split(none, 9)", "['a', 'b', 'c', 'd']"},
      {"'a b c d'.split(maxsplit=1)", "['a', 'b c d']"},
      {"'日 本'.split()", "['日', '本']"},
  });
}

// Empty parts stay.
TEST(StringSearch, SplitOnASeparator) {
  expect_values({
      {"''.split(',')", "['']"},
      {"'a'.split(',')", "['a']"},
      {"'a,b,,c'.split(',')", "['a', 'b', '', 'c']"},
      {"','.split(',')", "['', '']"},
      {"',a,'.split(',')", "['', 'a', '']"},
      {"'a--b---c'.split('--')", "['a', 'b', '-c']"},
      {"'a,b,c'.split(',', 0)", "['a,b,c']"},
      {"'a,b,c'.split(',', 1)", "['a', 'b,c']"},
      {"'a,b,c'.split(',', 2)", "['a', 'b', 'c']"},
      {"'a,b,c'.split(',', -1)", "['a', 'b', 'c']"},
      {"'aXbXc'.split('X', maxsplit=1)", "['a', 'bXc']"},
      {"'aXbXc'.split(sep='X')", "['a', 'b', 'c']"},
      {"'日本日'.split('本')", "['日', '日']"},
      {"'abc'.split('abc')", "['', '']"},
      {"'abc'.split('abcd')", "['abc']"},
      {"'a b'.split(' ')", "['a', 'b']"},
      {"' a  b '.split(' ')", "['', 'a', '', 'b', '']"},
      {"'aaa'.split('a')", "['', '', '', '']"},
  });
  expect_refused({
      "'abc'.split('')",
      "'abc'.split(1)",
  });
}

// The limit counts from the end.
TEST(StringSearch, RsplitCutsFromTheRight) {
  expect_values({
      {"''.rsplit()", "[]"},
      {"'a b c'.rsplit()", "['a', 'b', 'c']"},
      {"'a b c'.rsplit(none, 1)", "['a b', 'c']"},
      {"'  a b c  '.rsplit(none, 1)", "['  a b', 'c']"},
      {"'a b c'.rsplit(none, 0)", "['a b c']"},
      {"'a,b,c'.rsplit(',')", "['a', 'b', 'c']"},
      {"'a,b,c'.rsplit(',', 1)", "['a,b', 'c']"},
      {"'a,b,c'.rsplit(',', 2)", "['a', 'b', 'c']"},
      {"',a,'.rsplit(',', 1)", "[',a', '']"},
      // The third dash stays on the other side than with split().
      {"'a--b---c'.rsplit('--')", "['a', 'b-', 'c']"},
      {"'a--b---c'.rsplit('--', 1)", "['a--b-', 'c']"},
      {"''.rsplit(',')", "['']"},
      {"'日,本,語'.rsplit(',', 1)", "['日,本', '語']"},
      {"'a\u3000b'.rsplit(none, 1)", "['a', 'b']"},
  });
  expect_refused({
      "'abc'.rsplit('')",
  });
}

// Unicode's too; \r\n is one.
TEST(StringSearch, SplitlinesKnowsEveryLineEnd) {
  expect_values({
      {"''.splitlines()", "[]"},
      {"'\\n'.splitlines()", "['']"},
      {"'a'.splitlines()", "['a']"},
      {"'a\\nb'.splitlines()", "['a', 'b']"},
      {"'a\\nb\\n'.splitlines()", "['a', 'b']"},
      {"'a\\n\\nb'.splitlines()", "['a', '', 'b']"},
      {"'a\015\\nb\015c'.splitlines()", "['a', '', 'b', 'c']"},
      {"'a\013b\014c'.splitlines()", "['a', 'b', 'c']"},
      {"'a\034b\035c\036d'.splitlines()", "['a', 'b', 'c', 'd']"},
      {"'a\302\205b'.splitlines()", "['a', 'b']"},
      {"'a\u2028b\u2029c'.splitlines()", "['a', 'b', 'c']"},
      {"'a\\nb\015\\nc'.splitlines(true)", "['a\\n', 'b\\n', '\\n', 'c']"},
      {"'a\\n'.splitlines(true)", "['a\\n']"},
      {"'\015\\n\\n'.splitlines(keepends=true)", "['\\n', '\\n', '\\n']"},
      {"'a\\nb'.splitlines(false)", "['a', 'b']"},
      // FS, GS and RS end lines, US does not.
      {"'a\037b'.splitlines()", "['a\\x1fb']"},
  });
}

// Also where the separator is absent.
TEST(StringSearch, PartitionGivesThreeParts) {
  expect_values({
      {"'a-b-c'.partition('-')", "('a', '-', 'b-c')"},
      {"'abc'.partition('-')", "('abc', '', '')"},
      {"'-'.partition('-')", "('', '-', '')"},
      {"''.partition('-')", "('', '', '')"},
      {"'a--b'.partition('--')", "('a', '--', 'b')"},
      {"'aaa'.partition('aa')", "('', 'aa', 'a')"},
      {"'日本語'.partition('本')", "('日', '本', '語')"},
      {"'a-b-c'.rpartition('-')", "('a-b', '-', 'c')"},
      {"'abc'.rpartition('-')", "('', '', 'abc')"},
      {"'-'.rpartition('-')", "('', '-', '')"},
      {"''.rpartition('-')", "('', '', '')"},
      {"'a--b'.rpartition('--')", "('a', '--', 'b')"},
      {"'aaa'.rpartition('aa')", "('a', 'aa', '')"},
      {"'日本語'.rpartition('本')", "('日', '本', '語')"},
  });
  expect_refused({
      "'abc'.partition('')",
      "'abc'.partition(1)",
      "'abc'.rpartition('')",
      "'abc'.rpartition(1)",
  });
}

// Bounds past the end hold no place, not even for the empty text.
TEST(StringSearch, StartswithAndEndswith) {
  expect_values({
      {"'abc'.startswith('a')", "True"},
      {"'abc'.startswith('c')", "False"},
      {"'abc'.startswith('')", "True"},
      {"''.startswith('')", "True"},
      {"''.startswith('a')", "False"},
      {"'abc'.startswith('abcd')", "False"},
      {"'abc'.startswith(('x', 'a'))", "True"},
      {"'abc'.startswith(('x', 'c'))", "False"},
      {"'abc'.startswith(())", "False"},
      {"'abc'.startswith('b', 1)", "True"},
      {"'abc'.startswith('b', 0, 2)", "False"},
      {"'abc'.startswith('', 3)", "True"},
      {"'abc'.startswith('', 4)", "False"},
      {"'abc'.startswith('c', -1)", "True"},
      {"'abc'.startswith('a', -9, -2)", "True"},
      {"'日本'.startswith('日')", "True"},
      {"'日本'.startswith('本', 1)", "True"},
      {"'abc'.endswith('a')", "False"},
      {"'abc'.endswith('c')", "True"},
      {"'abc'.endswith('')", "True"},
      {"''.endswith('')", "True"},
      {"''.endswith('a')", "False"},
      {"'abc'.endswith('abcd')", "False"},
      {"'abc'.endswith(('x', 'a'))", "False"},
      {"'abc'.endswith(('x', 'c'))", "True"},
      {"'abc'.endswith(())", "False"},
      {"'abc'.endswith('b', 1)", "False"},
      {"'abc'.endswith('b', 0, 2)", "True"},
      {"'abc'.endswith('', 3)", "True"},
      {"'abc'.endswith('', 4)", "False"},
      {"'abc'.endswith('c', -1)", "True"},
      {"'abc'.endswith('a', -9, -2)", "True"},
      {"'日本'.endswith('日')", "False"},
      {"'日本'.endswith('本', 1)", "True"},
  });
  expect_refused({
      "'abc'.startswith(1)",
      "'abc'.startswith(['a'])",
      "'abc'.endswith(1)",
      "'abc'.endswith(['a'])",
  });
}

// From the begin of the whole text, whatever the bounds.
TEST(StringSearch, FindCountsCharacters) {
  expect_values({
      {"'banana'.find('an')", "1"},
      {"'banana'.find('x')", "-1"},
      {"'banana'.find('')", "0"},
      {"''.find('')", "0"},
      {"''.find('a')", "-1"},
      {"'banana'.find('an', 2)", "3"},
      {"'banana'.find('an', 0, 3)", "1"},
      {"'banana'.find('an', 0, 2)", "-1"},
      {"'banana'.find('a', -2)", "5"},
      {"'banana'.find('a', -100)", "1"},
      {"'banana'.find('a', 6)", "-1"},
      {"'banana'.find('', 6)", "6"},
      {"'banana'.find('', 7)", "-1"},
      {"'banana'.find('', 3, 2)", "-1"},
      {"'日本日'.find('日')", "0"},
      {"'日本日'.find('日', 1)", "2"},
      {"'日本日'.find('本', -2)", "1"},
      {"'banana'.find('banana')", "0"},
      {"'banana'.find('n', none, 4)", "2"},
      {"'banana'.find('n', 3, none)", "4"},
  });
  expect_refused({
      "'banana'.find(1)",
  });
}

// The last place.
TEST(StringSearch, RfindCountsCharacters) {
  expect_values({
      {"'banana'.rfind('an')", "3"},
      {"'banana'.rfind('x')", "-1"},
      // The empty text is found last at the end.
      {"'banana'.rfind('')", "6"},
      {"''.rfind('')", "0"},
      {"''.rfind('a')", "-1"},
      {"'banana'.rfind('an', 2)", "3"},
      {"'banana'.rfind('an', 0, 3)", "1"},
      {"'banana'.rfind('an', 0, 2)", "-1"},
      {"'banana'.rfind('a', -2)", "5"},
      {"'banana'.rfind('a', -100)", "5"},
      {"'banana'.rfind('a', 6)", "-1"},
      {"'banana'.rfind('', 6)", "6"},
      {"'banana'.rfind('', 7)", "-1"},
      {"'banana'.rfind('', 3, 2)", "-1"},
      {"'日本日'.rfind('日')", "2"},
      {"'日本日'.rfind('日', 1)", "2"},
      {"'日本日'.rfind('本', -2)", "1"},
      {"'banana'.rfind('banana')", "0"},
      {"'banana'.rfind('n', none, 4)", "2"},
      {"'banana'.rfind('n', 3, none)", "4"},
  });
  expect_refused({
      "'banana'.rfind(1)",
  });
}

// An error where find() gives -1.
TEST(StringSearch, IndexRefusesWhatIsAbsent) {
  expect_values({
      {"'banana'.index('an')", "1"},
      {"'banana'.index('')", "0"},
      {"'banana'.index('a', 2)", "3"},
      {"'日本'.index('本')", "1"},
      {"'banana'.rindex('an')", "3"},
      {"'banana'.rindex('')", "6"},
      {"'banana'.rindex('a', 2)", "5"},
      {"'日本'.rindex('本')", "1"},
  });
  expect_refused({
      "'banana'.index('x')",
      "'banana'.index('b', 1)",
      "''.index('a')",
      "'abc'.index('', 9)",
      "'banana'.rindex('x')",
      "'banana'.rindex('b', 1)",
      "''.rindex('a')",
      "'abc'.rindex('', 9)",
  });
}

// And counts one empty text more than characters.
TEST(StringSearch, CountDoesNotOverlap) {
  expect_values({
      {"'banana'.count('a')", "3"},
      {"'banana'.count('ana')", "1"},
      {"'aaaa'.count('aa')", "2"},
      {"'banana'.count('')", "7"},
      {"''.count('')", "1"},
      {"''.count('a')", "0"},
      {"'banana'.count('a', 2)", "2"},
      {"'banana'.count('a', 2, 4)", "1"},
      {"'banana'.count('a', -1)", "1"},
      {"'banana'.count('', 6)", "1"},
      {"'banana'.count('', 7)", "0"},
      {"'banana'.count('', 2, 1)", "0"},
      {"'日本日'.count('日')", "2"},
      {"'日本'.count('')", "3"},
      {"'banana'.count('banana')", "1"},
      {"'banana'.count('x')", "0"},
  });
  expect_refused({
      "'banana'.count(1)",
  });
}

// Each row is a text of one class, then letters of several scripts.
TEST(StringPredicates, Isalpha) {
  expect_templates({
      {"{% for s in ['', 'a', 'A', '1', 'a1', ' ', '\\t\\n', '_'] %}{{ 1 if s.isalpha() else 0 "
       "}}{% endfor %}",
       "01100000"},
      {"{% for s in ['é', 'É', '日', '²', '½', '٣', 'Ⅷ', 'ª'] %}{{ 1 if s.isalpha() else 0 }}{% "
       "endfor %}",
       "11100001"},
      {"{% for s in ['aA', 'A1', 'a b', '\u00a0', '🙂', 'ǅ', '-1', '1.5'] %}{{ 1 if s.isalpha() "
       "else 0 }}{% endfor %}",
       "10000100"},
  });
}

// Letters, digits and other numbers.
TEST(StringPredicates, Isalnum) {
  expect_templates({
      {"{% for s in ['', 'a', 'A', '1', 'a1', ' ', '\\t\\n', '_'] %}{{ 1 if s.isalnum() else 0 "
       "}}{% endfor %}",
       "01111000"},
      {"{% for s in ['é', 'É', '日', '²', '½', '٣', 'Ⅷ', 'ª'] %}{{ 1 if s.isalnum() else 0 }}{% "
       "endfor %}",
       "11111111"},
      {"{% for s in ['aA', 'A1', 'a b', '\u00a0', '🙂', 'ǅ', '-1', '1.5'] %}{{ 1 if s.isalnum() "
       "else 0 }}{% endfor %}",
       "11000100"},
  });
}

// Superscripts are digits, fractions are not.
TEST(StringPredicates, Isdigit) {
  expect_templates({
      {"{% for s in ['', 'a', 'A', '1', 'a1', ' ', '\\t\\n', '_'] %}{{ 1 if s.isdigit() else 0 "
       "}}{% endfor %}",
       "00010000"},
      {"{% for s in ['é', 'É', '日', '²', '½', '٣', 'Ⅷ', 'ª'] %}{{ 1 if s.isdigit() else 0 }}{% "
       "endfor %}",
       "00010100"},
      {"{% for s in ['aA', 'A1', 'a b', '\u00a0', '🙂', 'ǅ', '-1', '1.5'] %}{{ 1 if s.isdigit() "
       "else 0 }}{% endfor %}",
       "00000000"},
  });
}

// Digits that int() takes.
TEST(StringPredicates, Isdecimal) {
  expect_templates({
      {"{% for s in ['', 'a', 'A', '1', 'a1', ' ', '\\t\\n', '_'] %}{{ 1 if s.isdecimal() else 0 "
       "}}{% endfor %}",
       "00010000"},
      {"{% for s in ['é', 'É', '日', '²', '½', '٣', 'Ⅷ', 'ª'] %}{{ 1 if s.isdecimal() else 0 }}{% "
       "endfor %}",
       "00000100"},
      {"{% for s in ['aA', 'A1', 'a b', '\u00a0', '🙂', 'ǅ', '-1', '1.5'] %}{{ 1 if "
       "s.isdecimal() else 0 }}{% endfor %}",
       "00000000"},
  });
}

// Fractions and Roman numerals as well.
TEST(StringPredicates, Isnumeric) {
  expect_templates({
      {"{% for s in ['', 'a', 'A', '1', 'a1', ' ', '\\t\\n', '_'] %}{{ 1 if s.isnumeric() else 0 "
       "}}{% endfor %}",
       "00010000"},
      {"{% for s in ['é', 'É', '日', '²', '½', '٣', 'Ⅷ', 'ª'] %}{{ 1 if s.isnumeric() else 0 }}{% "
       "endfor %}",
       "00011110"},
      {"{% for s in ['aA', 'A1', 'a b', '\u00a0', '🙂', 'ǅ', '-1', '1.5'] %}{{ 1 if "
       "s.isnumeric() else 0 }}{% endfor %}",
       "00000000"},
  });
}

// The empty text is of no class.
TEST(StringPredicates, Isspace) {
  expect_templates({
      {"{% for s in ['', 'a', 'A', '1', 'a1', ' ', '\\t\\n', '_'] %}{{ 1 if s.isspace() else 0 "
       "}}{% endfor %}",
       "00000110"},
      {"{% for s in ['é', 'É', '日', '²', '½', '٣', 'Ⅷ', 'ª'] %}{{ 1 if s.isspace() else 0 }}{% "
       "endfor %}",
       "00000000"},
      {"{% for s in ['aA', 'A1', 'a b', '\u00a0', '🙂', 'ǅ', '-1', '1.5'] %}{{ 1 if s.isspace() "
       "else 0 }}{% endfor %}",
       "00010000"},
  });
}

// At least one letter with a case, and none in lower case.
TEST(StringPredicates, Isupper) {
  expect_templates({
      {"{% for s in ['', 'a', 'A', '1', 'a1', ' ', '\\t\\n', '_'] %}{{ 1 if s.isupper() else 0 "
       "}}{% endfor %}",
       "00100000"},
      {"{% for s in ['é', 'É', '日', '²', '½', '٣', 'Ⅷ', 'ª'] %}{{ 1 if s.isupper() else 0 }}{% "
       "endfor %}",
       "01000010"},
      {"{% for s in ['aA', 'A1', 'a b', '\u00a0', '🙂', 'ǅ', '-1', '1.5'] %}{{ 1 if s.isupper() "
       "else 0 }}{% endfor %}",
       "01000000"},
  });
}

// The same the other way round.
TEST(StringPredicates, Islower) {
  expect_templates({
      {"{% for s in ['', 'a', 'A', '1', 'a1', ' ', '\\t\\n', '_'] %}{{ 1 if s.islower() else 0 "
       "}}{% endfor %}",
       "01001000"},
      {"{% for s in ['é', 'É', '日', '²', '½', '٣', 'Ⅷ', 'ª'] %}{{ 1 if s.islower() else 0 }}{% "
       "endfor %}",
       "10000001"},
      {"{% for s in ['aA', 'A1', 'a b', '\u00a0', '🙂', 'ǅ', '-1', '1.5'] %}{{ 1 if s.islower() "
       "else 0 }}{% endfor %}",
       "00100000"},
  });
}

// The empty text is ASCII.
TEST(StringPredicates, Isascii) {
  expect_templates({
      {"{% for s in ['', 'a', 'A', '1', 'a1', ' ', '\\t\\n', '_'] %}{{ 1 if s.isascii() else 0 "
       "}}{% endfor %}",
       "11111111"},
      {"{% for s in ['é', 'É', '日', '²', '½', '٣', 'Ⅷ', 'ª'] %}{{ 1 if s.isascii() else 0 }}{% "
       "endfor %}",
       "00000000"},
      {"{% for s in ['aA', 'A1', 'a b', '\u00a0', '🙂', 'ǅ', '-1', '1.5'] %}{{ 1 if s.isascii() "
       "else 0 }}{% endfor %}",
       "11100011"},
  });
}

}  // namespace
}  // namespace quern::test
