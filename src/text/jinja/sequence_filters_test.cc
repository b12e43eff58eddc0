// Filters of whole sequences.
#include "support/render_cases.h"

namespace quern::test {
namespace {

// Of every kind of sequence, and of nothing.
TEST(SequenceFilters, FirstAndLast) {
  expect_values({
      {"'[' ~ ([]|first) ~ ']'", "[]"},          {"'[' ~ ([1]|first) ~ ']'", "[1]"},
      {"'[' ~ ([1, 2]|first) ~ ']'", "[1]"},     {"'[' ~ (''|first) ~ ']'", "[]"},
      {"'[' ~ ('abc'|first) ~ ']'", "[a]"},      {"'[' ~ ('日本'|first) ~ ']'", "[日]"},
      {"'[' ~ (()|first) ~ ']'", "[]"},          {"'[' ~ ((1, 2)|first) ~ ']'", "[1]"},
      {"'[' ~ ({}|first) ~ ']'", "[]"},          {"'[' ~ ({'a': 1, 'b': 2}|first) ~ ']'", "[a]"},
      {"'[' ~ (range(3)|first) ~ ']'", "[0]"},   {"'[' ~ (range(0)|first) ~ ']'", "[]"},
      {"'[' ~ (d.values()|first) ~ ']'", "[2]"}, {"'[' ~ (xs|map('string')|first) ~ ']'", "[3]"},
      {"'[' ~ ([]|last) ~ ']'", "[]"},           {"'[' ~ ([1]|last) ~ ']'", "[1]"},
      {"'[' ~ ([1, 2]|last) ~ ']'", "[2]"},      {"'[' ~ (''|last) ~ ']'", "[]"},
      {"'[' ~ ('abc'|last) ~ ']'", "[c]"},       {"'[' ~ ('日本'|last) ~ ']'", "[本]"},
      {"'[' ~ (()|last) ~ ']'", "[]"},           {"'[' ~ ((1, 2)|last) ~ ']'", "[2]"},
      {"'[' ~ ({}|last) ~ ']'", "[]"},           {"'[' ~ ({'a': 1, 'b': 2}|last) ~ ']'", "[b]"},
      {"'[' ~ (range(3)|last) ~ ']'", "[2]"},    {"'[' ~ (range(0)|last) ~ ']'", "[]"},
      {"'[' ~ (d.values()|last) ~ ']'", "[3]"},
  });
  expect_refused({
      "'[' ~ (5|first) ~ ']'",
      "'[' ~ (none|first) ~ ']'",
      "'[' ~ (5|last) ~ ']'",
      "'[' ~ (none|last) ~ ']'",
      // A generator cannot be reversed, so it has a first item and no last one.
      "'[' ~ (xs|map('string')|last) ~ ']'",
  });
}

// Texts count characters.
TEST(SequenceFilters, LengthAndCount) {
  expect_values({
      {"''|length", "0"},
      {"'abc'|length", "3"},
      {"'日本🙂'|length", "3"},
      {"[]|length", "0"},
      {"[1, [2, 3]]|length", "2"},
      {"()|length", "0"},
      {"(1,)|length", "1"},
      {"{}|length", "0"},
      {"d|length", "3"},
      {"range(5)|length", "5"},
      {"range(0, 10, 3)|length", "4"},
      {"d.items()|length", "3"},
      {"xs|count", "3"},
      {"'ab'|count", "2"},
  });
  expect_refused({
      "none|length",
      "5|length",
      "1.5|length",
      // Although true is 1, it has no length either.
      "true|length",
      "xs|map('int')|length",
  });
}

// Numbers and none become text; safe parts stay safe.
TEST(SequenceFilters, JoinTurnsItemsIntoText) {
  expect_values({
      {"[1, 2]|join", "12"},
      {"[1, 2]|join(',')", "1,2"},
      {"[]|join(',')", ""},
      {"['a']|join(',')", "a"},
      {"[none, true, 1.5]|join(' ')", "None True 1.5"},
      {"'abc'|join('-')", "a-b-c"},
      {"(1, 2)|join('-')", "1-2"},
      {"d|join(',')", "b,a,C"},
      {"d.values()|join(',')", "2,1,3"},
      {"range(4)|join", "0123"},
      {"[[1, 2], {'a': 1}]|join('|')", "[1, 2]|{'a': 1}"},
      {"people|join(', ', attribute='name')", "Bo, al, Cy"},
      {"people|join(', ', 'city')", "Rome, Oslo, rome"},
      {"people|join(attribute='tags')", "['x', 'y'][]['z']"},
      {"[1, 2]|join(3)", "132"},
      {"[1, 2]|join(d=', ')", "1, 2"},
      {"missing|join(',')", ""},
      // Undefined attributes are empty texts.
      {"people|join(',', 'zip')", ",,"},
      {"[missing, 1]|join('-')", "-1"},
      {"['a', 'b']|join('<'|safe)", "a<b"},
  });
  expect_refused({
      "5|join",
  });
}

// A reversed text is a text.
TEST(SequenceFilters, ListAndReverse) {
  expect_values({
      {"''|list", "[]"},
      {"'ab'|list", "['a', 'b']"},
      {"()|list", "[]"},
      {"(1, 2)|list", "[1, 2]"},
      {"{}|list", "[]"},
      {"d|list", "['b', 'a', 'C']"},
      {"range(3)|list", "[0, 1, 2]"},
      {"d.items()|list", "[('b', 2), ('a', 1), ('C', 3)]"},
      {"xs|map('string')|list", "['3', '1', '2']"},
      {"missing|list", "[]"},
      {"[]|reverse|list", "[]"},
      {"[1]|reverse|list", "[1]"},
      {"[1, 2, 3]|reverse|list", "[3, 2, 1]"},
      {"(1, 2)|reverse|list", "[2, 1]"},
      {"range(3)|reverse|list", "[2, 1, 0]"},
      {"d|reverse|list", "['C', 'a', 'b']"},
      {"d.values()|reverse|list", "[3, 1, 2]"},
      {"'abc'|reverse", "cba"},
      {"'日本🙂'|reverse", "🙂本日"},
      {"''|reverse", ""},
      {"[3, 1]|reverse|first", "1"},
  });
  expect_refused({
      "none|list",
      "5|list",
      "5|reverse|list",
      "none|reverse|list",
      "5|reverse",
  });
}

// Unless case is asked for; several attributes may be named.
TEST(SequenceFilters, SortIsStableAndIgnoresCase) {
  expect_values({
      {"[3, 1, 2]|sort", "[1, 2, 3]"},
      {"[]|sort", "[]"},
      {"[1]|sort", "[1]"},
      {"['b', 'A', 'a', 'B']|sort", "['A', 'a', 'b', 'B']"},
      {"['b', 'A', 'a', 'B']|sort(case_sensitive=true)", "['A', 'B', 'a', 'b']"},
      // Stable in reverse, too: b before B and A before a, as in the list.
      {"['b', 'A', 'a', 'B']|sort(reverse=true)", "['b', 'B', 'A', 'a']"},
      {"['b', 'A', 'a', 'B']|sort(true, true)", "['b', 'a', 'B', 'A']"},
      {"[1.5, 1, true, 0]|sort", "[0, 1, True, 1.5]"},
      // Equal numbers of different types keep their order.
      {"[2, 1.0, 1]|sort", "[1.0, 1, 2]"},
      {"'hello'|sort", "['e', 'h', 'l', 'l', 'o']"},
      {"d|sort", "['a', 'b', 'C']"},
      {"(3, 1)|sort", "[1, 3]"},
      {"range(5)|sort(reverse=true)", "[4, 3, 2, 1, 0]"},
      {"[[2, 1], [1, 9], [1, 2]]|sort", "[[1, 2], [1, 9], [2, 1]]"},
      {"[(1, 'b'), (1, 'a')]|sort", "[(1, 'a'), (1, 'b')]"},
      {"people|sort(attribute='name')|map(attribute='name')|list", "['al', 'Bo', 'Cy']"},
      {"people|sort(attribute='age')|map(attribute='name')|list", "['al', 'Bo', 'Cy']"},
      {"people|sort(attribute='age', reverse=true)|map(attribute='name')|list",
       "['Bo', 'Cy', 'al']"},
      {"people|sort(attribute='age,name')|map(attribute='name')|list", "['al', 'Bo', 'Cy']"},
      {"people|sort(attribute='city,name')|map(attribute='name')|list", "['al', 'Bo', 'Cy']"},
      {"people|sort(attribute='tags')|map(attribute='name')|list", "['al', 'Bo', 'Cy']"},
      {"people|sort(attribute='zip')|map(attribute='name')|list", "['Bo', 'al', 'Cy']"},
      {"[none, none]|sort", "[None, None]"},
      {"[{}, {}]|sort", "[{}, {}]"},
      // By code points and not by any language's alphabet.
      {"['é', 'e', 'f']|sort", "['e', 'f', 'é']"},
      {"['Ä', 'ä', 'a']|sort", "['a', 'Ä', 'ä']"},
  });
  expect_refused({
      "[1, 'a']|sort",
      "[none, 1]|sort",
      "[{'a': 1}, {'a': 2}]|sort",
      "5|sort",
      "[[1], ['a']]|sort",
  });
}

// By value or by attribute.
TEST(SequenceFilters, UniqueKeepsTheFirst) {
  expect_values({
      {"[]|unique|list", "[]"},
      {"[1, 2, 1]|unique|list", "[1, 2]"},
      {"[1, 1.0, true]|unique|list", "[1]"},
      // 0 and false are equal.
      {"[0, false, '']|unique|list", "[0, '']"},
      {"['a', 'A', 'b']|unique|list", "['a', 'b']"},
      {"['a', 'A', 'b']|unique(true)|list", "['a', 'A', 'b']"},
      {"'Hello'|unique|list", "['H', 'e', 'l', 'o']"},
      {"people|unique(attribute='age')|map(attribute='name')|list", "['Bo', 'al']"},
      {"people|unique(attribute='city')|map(attribute='name')|list", "['Bo', 'al']"},
      {"people|unique(true, 'city')|map(attribute='name')|list", "['Bo', 'al', 'Cy']"},
      {"[none, none]|unique|list", "[None]"},
      {"[(1, 2), (1, 2)]|unique|list", "[(1, 2)]"},
      {"people|unique(attribute='zip')|map(attribute='name')|list", "['Bo']"},
  });
  expect_refused({
      "[[1], [1]]|unique|list",
      "[{}]|unique|list",
      "5|unique|list",
  });
}

// The filler goes where Jinja puts it, which is not always where it is needed.
TEST(SequenceFilters, BatchAndSlice) {
  expect_values({
      {"[]|batch(2)|list", "[]"},
      {"[1]|batch(2)|list", "[[1]]"},
      {"[1, 2, 3, 4, 5]|batch(1)|list", "[[1], [2], [3], [4], [5]]"},
      {"[1, 2, 3, 4, 5]|batch(2)|list", "[[1, 2], [3, 4], [5]]"},
      {"[1, 2, 3, 4, 5]|batch(3)|list", "[[1, 2, 3], [4, 5]]"},
      {"[1, 2, 3, 4, 5]|batch(5)|list", "[[1, 2, 3, 4, 5]]"},
      {"[1, 2, 3, 4, 5]|batch(9)|list", "[[1, 2, 3, 4, 5]]"},
      {"[1, 2, 3, 4, 5]|batch(2, 'x')|list", "[[1, 2], [3, 4], [5, 'x']]"},
      {"[1, 2, 3, 4, 5]|batch(3, 'x')|list", "[[1, 2, 3], [4, 5, 'x']]"},
      {"[1, 2, 3, 4]|batch(2, 'x')|list", "[[1, 2], [3, 4]]"},
      {"[1, 2, 3]|batch(2, none)|list", "[[1, 2], [3]]"},
      {"'abcd'|batch(3)|list", "[['a', 'b', 'c'], ['d']]"},
      {"range(4)|batch(3)|list", "[[0, 1, 2], [3]]"},
      {"d|batch(2)|list", "[['b', 'a'], ['C']]"},
      {"[]|batch(2, 'x')|list", "[]"},
      {"[]|slice(2)|list", "[[], []]"},
      {"[1]|slice(2)|list", "[[1], []]"},
      {"[1, 2, 3, 4, 5]|slice(1)|list", "[[1, 2, 3, 4, 5]]"},
      {"[1, 2, 3, 4, 5]|slice(2)|list", "[[1, 2, 3], [4, 5]]"},
      {"[1, 2, 3, 4, 5]|slice(3)|list", "[[1, 2], [3, 4], [5]]"},
      {"[1, 2, 3, 4, 5]|slice(5)|list", "[[1], [2], [3], [4], [5]]"},
      {"[1, 2, 3, 4, 5]|slice(9)|list", "[[1], [2], [3], [4], [5], [], [], [], []]"},
      {"[1, 2, 3, 4, 5]|slice(2, 'x')|list", "[[1, 2, 3], [4, 5, 'x']]"},
      {"[1, 2, 3, 4, 5]|slice(3, 'x')|list", "[[1, 2], [3, 4], [5, 'x']]"},
      // Jinja fills every slice that did not get one of the left-over items, even where there were
      // none.
      {"[1, 2, 3, 4]|slice(2, 'x')|list", "[[1, 2, 'x'], [3, 4, 'x']]"},
      {"[1, 2, 3]|slice(2, none)|list", "[[1, 2], [3]]"},
      {"'abcd'|slice(3)|list", "[['a', 'b'], ['c'], ['d']]"},
      {"range(4)|slice(3)|list", "[[0, 1], [2], [3]]"},
      {"d|slice(2)|list", "[['b', 'a'], ['C']]"},
      {"[]|slice(2, 'x')|list", "[['x'], ['x']]"},

  });
  expect_refused({
      "[1]|slice(0)|list",
      "[1]|batch|list",
      "5|slice(2)|list",
  });
}

}  // namespace
}  // namespace quern::test
