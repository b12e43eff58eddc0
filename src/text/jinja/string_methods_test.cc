// Methods that change a string: case, padding, stripping, replacing, joining.
#include "support/render_cases.h"

namespace quern::test {
namespace {

// Letters whose mapping is longer, or another script's.
TEST(StringMethods, UpperOfEveryKindOfLetter) {
  expect_values({
      {"''.upper()", ""},
      {"'a'.upper()", "A"},
      {"'hello World'.upper()", "HELLO WORLD"},
      {"'ÉCOLE straße'.upper()", "ÉCOLE STRASSE"},
      {"'ǆungla'.upper()", "ǄUNGLA"},
      {"'ΟΔΟΣ'.upper()", "ΟΔΟΣ"},
      // An i with a dot above it (two characters) becomes I with that dot.
      {"'i̇stanbul'.upper()", "İSTANBUL"},
      {"'a1b2_c3'.upper()", "A1B2_C3"},
      {"'it\\'s o\\'clock'.upper()", "IT'S O'CLOCK"},
      {"'don\\'t-stop me'.upper()", "DON'T-STOP ME"},
      {"'ﬁn'.upper()", "FIN"},
      {"'ALL CAPS'.upper()", "ALL CAPS"},
      {"'\\t tab'.upper()", "\t TAB"},
  });
}

// A sigma at the end of a word has a form of its own.
TEST(StringMethods, LowerOfEveryKindOfLetter) {
  expect_values({
      {"''.lower()", ""},
      {"'a'.lower()", "a"},
      {"'hello World'.lower()", "hello world"},
      {"'ÉCOLE straße'.lower()", "école straße"},
      {"'ǆungla'.lower()", "ǆungla"},
      {"'ΟΔΟΣ'.lower()", "οδος"},
      {"'i̇stanbul'.lower()", "i̇stanbul"},
      {"'a1b2_c3'.lower()", "a1b2_c3"},
      {"'it\\'s o\\'clock'.lower()", "it's o'clock"},
      {"'don\\'t-stop me'.lower()", "don't-stop me"},
      {"'ﬁn'.lower()", "ﬁn"},
      {"'ALL CAPS'.lower()", "all caps"},
      {"'\\t tab'.lower()", "\t tab"},
  });
}

// Letters behind apostrophes and digits begin words too.
TEST(StringMethods, TitleOfEveryKindOfLetter) {
  expect_values({
      {"''.title()", ""},
      {"'a'.title()", "A"},
      {"'hello World'.title()", "Hello World"},
      {"'ÉCOLE straße'.title()", "École Straße"},
      {"'ǆungla'.title()", "ǅungla"},
      {"'ΟΔΟΣ'.title()", "Οδος"},
      {"'i̇stanbul'.title()", "İStanbul"},
      {"'a1b2_c3'.title()", "A1B2_C3"},
      // Python's rule: a letter after anything that has no case begins a word.
      {"'it\\'s o\\'clock'.title()", "It'S O'Clock"},
      {"'don\\'t-stop me'.title()", "Don'T-Stop Me"},
      {"'ﬁn'.title()", "Fin"},
      {"'ALL CAPS'.title()", "All Caps"},
      {"'\\t tab'.title()", "\t Tab"},
  });
}

// The first character as a title, the rest in lower case.
TEST(StringMethods, CapitalizeOfEveryKindOfLetter) {
  expect_values({
      {"''.capitalize()", ""},
      {"'a'.capitalize()", "A"},
      {"'hello World'.capitalize()", "Hello world"},
      {"'ÉCOLE straße'.capitalize()", "École straße"},
      {"'ǆungla'.capitalize()", "ǅungla"},
      {"'ΟΔΟΣ'.capitalize()", "Οδος"},
      {"'i̇stanbul'.capitalize()", "İstanbul"},
      {"'a1b2_c3'.capitalize()", "A1b2_c3"},
      {"'it\\'s o\\'clock'.capitalize()", "It's o'clock"},
      {"'don\\'t-stop me'.capitalize()", "Don't-stop me"},
      {"'ﬁn'.capitalize()", "Fin"},
      {"'ALL CAPS'.capitalize()", "All caps"},
      {"'\\t tab'.capitalize()", "\t tab"},
  });
}

// With the final sigma.
TEST(StringMethods, SwapcaseOfEveryKindOfLetter) {
  expect_values({
      {"''.swapcase()", ""},
      {"'a'.swapcase()", "A"},
      {"'hello World'.swapcase()", "HELLO wORLD"},
      {"'ÉCOLE straße'.swapcase()", "école STRASSE"},
      {"'ǆungla'.swapcase()", "ǄUNGLA"},
      {"'ΟΔΟΣ'.swapcase()", "οδος"},
      {"'i̇stanbul'.swapcase()", "İSTANBUL"},
      {"'a1b2_c3'.swapcase()", "A1B2_C3"},
      {"'it\\'s o\\'clock'.swapcase()", "IT'S O'CLOCK"},
      {"'don\\'t-stop me'.swapcase()", "DON'T-STOP ME"},
      {"'ﬁn'.swapcase()", "FIN"},
      {"'ALL CAPS'.swapcase()", "all caps"},
      {"'\\t tab'.swapcase()", "\t TAB"},
  });
}

// For comparisons: sharp s is ss.
TEST(StringMethods, CasefoldOfEveryKindOfLetter) {
  expect_values({
      {"''.casefold()", ""},
      {"'a'.casefold()", "a"},
      {"'hello World'.casefold()", "hello world"},
      {"'ÉCOLE straße'.casefold()", "école strasse"},
      {"'ǆungla'.casefold()", "ǆungla"},
      {"'ΟΔΟΣ'.casefold()", "οδοσ"},
      {"'i̇stanbul'.casefold()", "i̇stanbul"},
      {"'a1b2_c3'.casefold()", "a1b2_c3"},
      {"'it\\'s o\\'clock'.casefold()", "it's o'clock"},
      {"'don\\'t-stop me'.casefold()", "don't-stop me"},
      {"'ﬁn'.casefold()", "fin"},
      {"'ALL CAPS'.casefold()", "all caps"},
      {"'\\t tab'.casefold()", "\t tab"},
  });
}

// Which side gets the odd one depends on both lengths.
TEST(StringMethods, CenterPutsTheLargerHalfAsPythonDoes) {
  expect_values({
      {"'[' ~ ''.center(0) ~ ']'", "[]"},
      {"'[' ~ ''.center(1) ~ ']'", "[ ]"},
      {"'[' ~ ''.center(3, '*') ~ ']'", "[***]"},
      {"'[' ~ 'a'.center(0) ~ ']'", "[a]"},
      {"'[' ~ 'a'.center(1) ~ ']'", "[a]"},
      {"'[' ~ 'a'.center(2) ~ ']'", "[a ]"},
      {"'[' ~ 'a'.center(3) ~ ']'", "[ a ]"},
      {"'[' ~ 'a'.center(4, '-') ~ ']'", "[-a--]"},
      {"'[' ~ 'a'.center(5, '-') ~ ']'", "[--a--]"},
      // CPython: left = pad / 2 + (pad & width & 1), so an odd pad and an odd width put one more to
      // the left.
      {"'[' ~ 'ab'.center(3) ~ ']'", "[ ab]"},
      {"'[' ~ 'ab'.center(4) ~ ']'", "[ ab ]"},
      {"'[' ~ 'ab'.center(5, '日') ~ ']'", "[日日ab日]"},
      {"'[' ~ 'ab'.center(7, '-') ~ ']'", "[---ab--]"},
      {"'[' ~ 'é🙂'.center(5, '.') ~ ']'", "[..é🙂.]"},
      {"'[' ~ 'abc'.center(-3) ~ ']'", "[abc]"},
      {"'[' ~ 'abc'.center(2) ~ ']'", "[abc]"},
  });
  expect_refused({
      "'[' ~ 'abc'.center(10, '12') ~ ']'",
      "'[' ~ 'abc'.center(10, '') ~ ']'",
      "'[' ~ 'abc'.center(10, 1) ~ ']'",
  });
}

// Of several bytes too.
TEST(StringMethods, LjustAndRjustCountCharacters) {
  expect_values({
      {"'[' ~ ''.ljust(0) ~ ']'", "[]"},
      {"'[' ~ ''.ljust(2) ~ ']'", "[  ]"},
      {"'[' ~ 'a'.ljust(1) ~ ']'", "[a]"},
      {"'[' ~ 'a'.ljust(4) ~ ']'", "[a   ]"},
      {"'[' ~ 'é🙂'.ljust(4) ~ ']'", "[é🙂  ]"},
      {"'[' ~ '日本'.ljust(5, '.') ~ ']'", "[日本...]"},
      {"'[' ~ 'abc'.ljust(-1) ~ ']'", "[abc]"},
      {"'[' ~ 'abc'.ljust(6, '🙂') ~ ']'", "[abc🙂🙂🙂]"},
      {"'[' ~ ''.rjust(0) ~ ']'", "[]"},
      {"'[' ~ ''.rjust(2) ~ ']'", "[  ]"},
      {"'[' ~ 'a'.rjust(1) ~ ']'", "[a]"},
      {"'[' ~ 'a'.rjust(4) ~ ']'", "[   a]"},
      {"'[' ~ 'é🙂'.rjust(4) ~ ']'", "[  é🙂]"},
      {"'[' ~ '日本'.rjust(5, '.') ~ ']'", "[...日本]"},
      {"'[' ~ 'abc'.rjust(-1) ~ ']'", "[abc]"},
      {"'[' ~ 'abc'.rjust(6, '🙂') ~ ']'", "[🙂🙂🙂abc]"},
  });
  expect_refused({
      "'[' ~ 'abc'.ljust(5, 'xy') ~ ']'",
      "'[' ~ 'abc'.rjust(5, 'xy') ~ ']'",
  });
}

// Of numbers and of anything else.
TEST(StringMethods, ZfillKeepsTheSignInFront) {
  expect_values({
      {"''.zfill(0)", ""},
      {"''.zfill(3)", "000"},
      {"'-'.zfill(3)", "-00"},
      {"'+'.zfill(3)", "+00"},
      {"'5'.zfill(3)", "005"},
      {"'-5'.zfill(4)", "-005"},
      {"'+5'.zfill(4)", "+005"},
      // Only the first character is looked at as a sign.
      {"'--5'.zfill(5)", "-00-5"},
      {"'abc'.zfill(5)", "00abc"},
      {"'-abc'.zfill(5)", "-0abc"},
      {"'12345'.zfill(3)", "12345"},
      {"'-1'.zfill(2)", "-1"},
      {"'é'.zfill(3)", "00é"},
      {"' 5'.zfill(4)", "00 5"},
      {"'-5'.zfill(-4)", "-5"},
  });
}

// A set, not a prefix.
TEST(StringMethods, StripTakesSpaceOrASet) {
  expect_values({
      {"'[' ~ '  a b  '.strip() ~ ']'", "[a b]"},
      {"'[' ~ '\\t\\n a \\n\\t'.strip() ~ ']'", "[a]"},
      {"'[' ~ ''.strip() ~ ']'", "[]"},
      {"'[' ~ '   '.strip() ~ ']'", "[]"},
      {"'[' ~ 'xxaxx'.strip('x') ~ ']'", "[a]"},
      {"'[' ~ 'xyaxy'.strip('yx') ~ ']'", "[a]"},
      {"'[' ~ 'xyaxy'.strip('ab') ~ ']'", "[xyaxy]"},
      {"'[' ~ 'a'.strip('') ~ ']'", "[a]"},
      {"'[' ~ ' a '.strip(none) ~ ']'", "[a]"},
      {"'[' ~ 'ééaéé'.strip('é') ~ ']'", "[a]"},
      {"'[' ~ '日本語日'.strip('日') ~ ']'", "[本語]"},
      {"'[' ~ '\u00a0\u2003a\u3000'.strip() ~ ']'", "[a]"},
      {"'[' ~ 'aaa'.strip('a') ~ ']'", "[]"},
      {"'[' ~ 'abcba'.strip('ab') ~ ']'", "[c]"},
      // File and unit separators (FS to US) are white space in Python.
      {"'[' ~ '\034a\037'.strip() ~ ']'", "[a]"},
  });
  expect_refused({
      "'[' ~ 'a'.strip(1) ~ ']'",
  });
}

// At the begin only.
TEST(StringMethods, LstripTakesSpaceOrASet) {
  expect_values({
      {"'[' ~ '  a b  '.lstrip() ~ ']'", "[a b  ]"},
      {"'[' ~ '\\t\\n a \\n\\t'.lstrip() ~ ']'", "[a \n\t]"},
      {"'[' ~ ''.lstrip() ~ ']'", "[]"},
      {"'[' ~ '   '.lstrip() ~ ']'", "[]"},
      {"'[' ~ 'xxaxx'.lstrip('x') ~ ']'", "[axx]"},
      {"'[' ~ 'xyaxy'.lstrip('yx') ~ ']'", "[axy]"},
      {"'[' ~ 'xyaxy'.lstrip('ab') ~ ']'", "[xyaxy]"},
      {"'[' ~ 'a'.lstrip('') ~ ']'", "[a]"},
      {"'[' ~ ' a '.lstrip(none) ~ ']'", "[a ]"},
      {"'[' ~ 'ééaéé'.lstrip('é') ~ ']'", "[aéé]"},
      {"'[' ~ '日本語日'.lstrip('日') ~ ']'", "[本語日]"},
      {"'[' ~ '\u00a0\u2003a\u3000'.lstrip() ~ ']'", "[a\u3000]"},
      {"'[' ~ 'aaa'.lstrip('a') ~ ']'", "[]"},
      {"'[' ~ 'abcba'.lstrip('ab') ~ ']'", "[cba]"},
      {"'[' ~ '\034a\037'.lstrip() ~ ']'", "[a\037]"},
  });
  expect_refused({
      "'[' ~ 'a'.lstrip(1) ~ ']'",
  });
}

// At the end only.
TEST(StringMethods, RstripTakesSpaceOrASet) {
  expect_values({
      {"'[' ~ '  a b  '.rstrip() ~ ']'", "[  a b]"},
      {"'[' ~ '\\t\\n a \\n\\t'.rstrip() ~ ']'", "[\t\n a]"},
      {"'[' ~ ''.rstrip() ~ ']'", "[]"},
      {"'[' ~ '   '.rstrip() ~ ']'", "[]"},
      {"'[' ~ 'xxaxx'.rstrip('x') ~ ']'", "[xxa]"},
      {"'[' ~ 'xyaxy'.rstrip('yx') ~ ']'", "[xya]"},
      {"'[' ~ 'xyaxy'.rstrip('ab') ~ ']'", "[xyaxy]"},
      {"'[' ~ 'a'.rstrip('') ~ ']'", "[a]"},
      {"'[' ~ ' a '.rstrip(none) ~ ']'", "[ a]"},
      {"'[' ~ 'ééaéé'.rstrip('é') ~ ']'", "[ééa]"},
      {"'[' ~ '日本語日'.rstrip('日') ~ ']'", "[日本語]"},
      {"'[' ~ '\u00a0\u2003a\u3000'.rstrip() ~ ']'", "[\u00a0\u2003a]"},
      {"'[' ~ 'aaa'.rstrip('a') ~ ']'", "[]"},
      {"'[' ~ 'abcba'.rstrip('ab') ~ ']'", "[abc]"},
      {"'[' ~ '\034a\037'.rstrip() ~ ']'", "[\034a]"},
  });
  expect_refused({
      "'[' ~ 'a'.rstrip(1) ~ ']'",
  });
}

// The empty text stands between all characters.
TEST(StringMethods, ReplaceCountsFromTheLeft) {
  expect_values({
      {"'aaa'.replace('a', 'b')", "bbb"},
      {"'aaa'.replace('a', 'b', 0)", "aaa"},
      {"'aaa'.replace('a', 'b', 1)", "baa"},
      {"'aaa'.replace('a', 'b', 2)", "bba"},
      {"'aaa'.replace('a', 'b', 9)", "bbb"},
      {"'aaa'.replace('a', 'b', -1)", "bbb"},
      // Places do not overlap.
      {"'aaa'.replace('aa', 'b')", "ba"},
      {"'abc'.replace('', '-')", "-a-b-c-"},
      {"'abc'.replace('', '-', 2)", "-a-bc"},
      {"''.replace('', '-')", "-"},
      {"''.replace('a', '-')", ""},
      {"'日本'.replace('', '.')", ".日.本."},
      {"'日本'.replace('本', 'x')", "日x"},
      {"'banana'.replace('an', '')", "ba"},
      {"'a.b.c'.replace('.', '..')", "a..b..c"},
      {"'aXbX'.replace('X', '\\n')", "a\nb\n"},
      {"'same'.replace('same', 'same')", "same"},
  });
  expect_refused({
      "'abc'.replace('c')",
      "'abc'.replace('a', 1)",
      "'abc'.replace(1, 'a')",
  });
}

// Other items are errors that name their place.
TEST(StringMethods, JoinTakesAnyIterableOfStrings) {
  expect_values({
      {"', '.join(['a', 'b', 'c'])", "a, b, c"},
      {"''.join(['a', 'b'])", "ab"},
      {"'-'.join([])", ""},
      {"'-'.join(['a'])", "a"},
      {"'-'.join('abc')", "a-b-c"},
      {"'-'.join(('x', 'y'))", "x-y"},
      {"'-'.join({'k': 1, 'l': 2})", "k-l"},
      {"'-'.join(d)", "b-a-C"},
      {"'é'.join(['日', '本'])", "日é本"},
      {"'-'.join(words|map('upper'))", "PEAR-APPLE-FIG-APPLE"},
      {"'-'.join(['', '', ''])", "--"},
      {"'-'.join(d.keys())", "b-a-C"},
      {"'+'.join(['a', 'b']|reverse)", "b+a"},
  });
  expect_refused({
      "'-'.join([1, 2])",
      "'-'.join(['a', none])",
      "'-'.join(5)",
      "'-'.join('a', 'b')",
  });
}

// removeprefix and removesuffix.
TEST(StringMethods, AffixesAreRemovedOnce) {
  expect_values({
      {"'prefix-x'.removeprefix('prefix-')", "x"},
      {"'aaa'.removeprefix('a')", "aa"},
      {"'abc'.removeprefix('')", "abc"},
      {"'abc'.removeprefix('b')", "abc"},
      {"'ab'.removeprefix('abc')", "ab"},
      {"'abc'.removeprefix('abc')", ""},
      {"'x.txt'.removesuffix('.txt')", "x"},
      {"'aaa'.removesuffix('a')", "aa"},
      {"'abc'.removesuffix('')", "abc"},
      {"'abc'.removesuffix('b')", "abc"},
      {"'bc'.removesuffix('abc')", "bc"},
      {"'abc'.removesuffix('abc')", ""},
      {"'日本'.removeprefix('日')", "本"},
      {"'日本'.removesuffix('本')", "日"},
  });
  expect_refused({
      "'abc'.removeprefix(1)",
      "'abc'.removesuffix(none)",
  });
}

}  // namespace
}  // namespace quern::test
