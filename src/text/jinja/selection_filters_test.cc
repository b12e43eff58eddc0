// Filters that apply a filter, a test or an attribute to each item.
#include "support/render_cases.h"

namespace quern::test {
namespace {

// The arguments of map(attribute=...) come in any order.
TEST(SelectionFilters, MapByAttributeInAnyOrder) {
  expect_values({
      {"people|map(attribute='name', default='-')|list", "['Bo', 'al', 'Cy']"},
      {"people|map(default='-', attribute='name')|list", "['Bo', 'al', 'Cy']"},
      {"people|map(default='-', attribute='zz')|list", "['-', '-', '-']"},
      {"people|map(default='x', attribute='zz.y')|list", "['x', 'x', 'x']"},
      {"people|map(attribute='zz', default=none)|list", "[Undefined, Undefined, Undefined]"},
  });
  expect_refused({
      "people|map(default='-')|list",
      "people|map(attribute='name', other=1)|list",
      "people|map(other=1, attribute='name')|list",
      "people|map('upper', attribute='name')|list",
  });
}

// Any filter by name, with arguments.
TEST(SelectionFilters, MapByFilter) {
  expect_values({
      {"[]|map('upper')|list", "[]"},
      {"['a', 'b']|map('upper')|list", "['A', 'B']"},
      {"['a', 1]|map('string')|list", "['a', '1']"},
      {"['1', 'x']|map('int')|list", "[1, 0]"},
      {"['1', 'x']|map('int', 9)|list", "[1, 9]"},
      {"['1', 'x']|map('int', default=9)|list", "[1, 9]"},
      {"['a-b', 'c']|map('replace', '-', '+')|list", "['a+b', 'c']"},
      {"[[3, 1], [2]]|map('sort')|list", "[[1, 3], [2]]"},
      {"[[3, 1], [2]]|map('join', '-')|list", "['3-1', '2']"},
      {"'ab'|map('upper')|join", "AB"},
      // A dict gives its keys.
      {"d|map('upper')|list", "['B', 'A', 'C']"},
      // Both are ties in binary as well: they go to the even digit.
      {"[1.25, 2.75]|map('round', 1)|list", "[1.2, 2.8]"},
      {"[[1, 2], []]|map('first')|map('default', '-')|list", "[1, '-']"},
      {"xs|map('abs')|sum", "6"},
      {"[' a ']|map('trim')|list", "['a']"},
  });
  expect_refused({
      "['a']|map('nope')|list",
      "['a']|map(1)|list",
      "['a']|map|list",
      "['a']|map('upper', 1)|list",
      "5|map('upper')|list",
  });
}

// Paths with dots and indices, and a fallback where they end.
TEST(SelectionFilters, MapByAttribute) {
  expect_values({
      {"people|map(attribute='name')|list", "['Bo', 'al', 'Cy']"},
      {"people|map(attribute='zip')|list", "[Undefined, Undefined, Undefined]"},
      {"people|map(attribute='zip', default='?')|list", "['?', '?', '?']"},
      {"people|map(attribute='tags')|list", "[['x', 'y'], [], ['z']]"},
      // A part of digits is an index.
      {"people|map(attribute='tags.0')|list", "['x', Undefined, 'z']"},
      {"people|map(attribute='tags.0', default='-')|list", "['x', '-', 'z']"},
      {"[[1, 2], [3]]|map(attribute=0)|list", "[1, 3]"},
      {"[[1, 2], [3]]|map(attribute='1', default=9)|list", "[2, 9]"},
      {"[{'a': {'b': 1}}]|map(attribute='a.b')|list", "[1]"},
      // With a default a path may end anywhere; without one, only its last part may be missing.
      {"[{'a': {}}]|map(attribute='a.b.c', default=0)|list", "[0]"},

      {"d.items()|map(attribute=1)|list", "[2, 1, 3]"},
      {"['ab', 'c']|map(attribute=0)|list", "['a', 'c']"},
  });
  expect_refused({
      "[{'a': {}}]|map(attribute='a.b.c')|list",
      "people|map(attribute='name', default='?', other=1)|list",
  });
}

// By truth, or by any test.
TEST(SelectionFilters, SelectAndReject) {
  expect_values({
      {"[0, 1, '', 'a', none, []]|select|list", "[1, 'a']"},
      {"[1, 2, 3, 4]|select('odd')|list", "[1, 3]"},
      {"[1, 2, 3, 4]|select('even')|list", "[2, 4]"},
      {"[1, 2, 3, 4]|select('gt', 2)|list", "[3, 4]"},
      {"[1, 2, 3, 4]|select('in', [2, 4])|list", "[2, 4]"},
      {"[1, 2, 3, 4]|select('divisibleby', 3)|list", "[3]"},
      {"['a', 1, none]|select('string')|list", "['a']"},
      {"['a', 1, none]|select('none')|list", "[None]"},
      {"'aBc'|select('upper')|list", "['B']"},
      {"d|select('equalto', 'a')|list", "['a']"},
      {"[]|select('odd')|list", "[]"},
      {"[0, 1, '', 'a', none, []]|reject|list", "[0, '', None, []]"},
      {"[1, 2, 3, 4]|reject('odd')|list", "[2, 4]"},
      {"[1, 2, 3, 4]|reject('even')|list", "[1, 3]"},
      {"[1, 2, 3, 4]|reject('gt', 2)|list", "[1, 2]"},
      {"[1, 2, 3, 4]|reject('in', [2, 4])|list", "[1, 3]"},
      {"[1, 2, 3, 4]|reject('divisibleby', 3)|list", "[1, 2, 4]"},
      {"['a', 1, none]|reject('string')|list", "[1, None]"},
      {"['a', 1, none]|reject('none')|list", "['a', 1]"},
      {"'aBc'|reject('upper')|list", "['a', 'c']"},
      {"d|reject('equalto', 'a')|list", "['b', 'C']"},
      {"[]|reject('odd')|list", "[]"},
  });
  expect_refused({
      "['a']|select('odd')|list",
      "[1]|select('nope')|list",
      "[1]|select(1)|list",
      "5|select|list",
      "['a']|reject('odd')|list",
      "[1]|reject('nope')|list",
      "[1]|reject(1)|list",
      "5|reject|list",
  });
}

// The same on an attribute of each item.
TEST(SelectionFilters, SelectattrAndRejectattr) {
  expect_values({
      {"people|selectattr('tags')|map(attribute='name')|list", "['Bo', 'Cy']"},
      {"people|selectattr('zip')|map(attribute='name')|list", "[]"},
      {"people|selectattr('age', 'equalto', 30)|map(attribute='name')|list", "['Bo', 'Cy']"},
      {"people|selectattr('age', 'eq', 25)|map(attribute='name')|list", "['al']"},
      {"people|selectattr('age', 'ne', 25)|map(attribute='name')|list", "['Bo', 'Cy']"},
      {"people|selectattr('age', 'lt', 30)|map(attribute='name')|list", "['al']"},
      {"people|selectattr('age', 'le', 30)|map(attribute='name')|list", "['Bo', 'al', 'Cy']"},
      {"people|selectattr('age', 'ge', 30)|map(attribute='name')|list", "['Bo', 'Cy']"},
      {"people|selectattr('age', 'gt', 30)|map(attribute='name')|list", "[]"},
      {"people|selectattr('name', 'in', ['Bo', 'Cy'])|map(attribute='name')|list", "['Bo', 'Cy']"},
      // "rome" is in lower case, "Rome" and "Oslo" are not.
      {"people|selectattr('city', 'lower')|map(attribute='name')|list", "['Cy']"},
      {"people|selectattr('zip', 'defined')|map(attribute='name')|list", "[]"},
      {"people|selectattr('zip', 'undefined')|map(attribute='name')|list", "['Bo', 'al', 'Cy']"},
      {"people|selectattr('tags.0', 'equalto', 'x')|map(attribute='name')|list", "['Bo']"},
      {"people|selectattr('tags', 'sequence')|map(attribute='name')|list", "['Bo', 'al', 'Cy']"},
      {"people|rejectattr('tags')|map(attribute='name')|list", "['al']"},
      {"people|rejectattr('zip')|map(attribute='name')|list", "['Bo', 'al', 'Cy']"},
      {"people|rejectattr('age', 'equalto', 30)|map(attribute='name')|list", "['al']"},
      {"people|rejectattr('age', 'eq', 25)|map(attribute='name')|list", "['Bo', 'Cy']"},
      {"people|rejectattr('age', 'ne', 25)|map(attribute='name')|list", "['al']"},
      {"people|rejectattr('age', 'lt', 30)|map(attribute='name')|list", "['Bo', 'Cy']"},
      {"people|rejectattr('age', 'le', 30)|map(attribute='name')|list", "[]"},
      {"people|rejectattr('age', 'ge', 30)|map(attribute='name')|list", "['al']"},
      {"people|rejectattr('age', 'gt', 30)|map(attribute='name')|list", "['Bo', 'al', 'Cy']"},
      {"people|rejectattr('name', 'in', ['Bo', 'Cy'])|map(attribute='name')|list", "['al']"},
      {"people|rejectattr('city', 'lower')|map(attribute='name')|list", "['Bo', 'al']"},
      {"people|rejectattr('zip', 'defined')|map(attribute='name')|list", "['Bo', 'al', 'Cy']"},
      {"people|rejectattr('zip', 'undefined')|map(attribute='name')|list", "[]"},
      {"people|rejectattr('tags.0', 'equalto', 'x')|map(attribute='name')|list", "['al', 'Cy']"},
      {"people|rejectattr('tags', 'sequence')|map(attribute='name')|list", "[]"},
      {"[[1, 0], [0, 1]]|selectattr(0)|list", "[[1, 0]]"},
      {"[[1, 0], [0, 1]]|selectattr('1')|list", "[[0, 1]]"},
  });
  expect_refused({
      "people|selectattr('name', 'nope')|map(attribute='name')|list",
      "people|selectattr()|map(attribute='name')|list",
      "people|rejectattr('name', 'nope')|map(attribute='name')|list",
      "people|rejectattr()|map(attribute='name')|list",
  });
}

// Groups are sorted by their key, items keep their order.
TEST(SelectionFilters, GroupbyOrdersItsGroups) {
  expect_values({
      {"(people|groupby('age'))[0].grouper", "25"},
      {"(people|groupby('age'))[1][1]|length", "2"},
      {"(people|groupby('age'))|first|last|length", "1"},
      {"people|groupby('age')|map('first')|list", "[25, 30]"},
  });
  expect_templates({
      // Case does not count, and the group's key is spelled as in its first item.
      {"{% for g in people|groupby('city') %}{{ g.grouper }}={{ "
       "g.list|map(attribute='name')|join('+') }};{% endfor %}",
       "Oslo=al;Rome=Bo+Cy;"},
      {"{% for k, v in people|groupby('age') %}{{ k }}={{ v|length }};{% endfor %}", "25=1;30=2;"},
      {"{% for k, v in people|groupby('city', case_sensitive=true) %}{{ k }}={{ v|length }};{% "
       "endfor %}",
       "Oslo=1;Rome=1;rome=1;"},
      {"{% for k, v in people|groupby('zip', default='none') %}{{ k }}={{ v|length }};{% endfor %}",
       "none=3;"},
      {"{% for k, v in []|groupby('x') %}x{% else %}empty{% endfor %}", "empty"},
      {"{% for k, v in [[1, 'a'], [0, 'b'], [1, 'c']]|groupby(0) %}{{ k }}{{ v }};{% endfor %}",
       "0[[0, 'b']];1[[1, 'a'], [1, 'c']];"},
      {"{% for k, v in people|groupby('tags.0', default='~') %}{{ k }}{{ v|length }};{% endfor %}",
       "x1;z1;~1;"},
  });
  expect_refused({
      "people|groupby|list",
      "[1, 'a']|groupby('x')|list",
      "5|groupby('x')",
  });
}

// Unlike a dot, it never falls back to an item.
TEST(SelectionFilters, AttrSeesMethodsOnly) {
  expect_values({
      {"d|attr('a')", ""},
      {"'[' ~ (d|attr('a')) ~ ']'", "[]"},
      {"(d|attr('items')) is callable", "True"},
      {"('a'|attr('upper'))()", "A"},
      {"'[' ~ ('a'|attr('nope')) ~ ']'", "[]"},
      {"([1]|attr('count'))(1)", "1"},
  });
  expect_refused({
      "d|attr(1)",
      "missing|attr('x')",
  });
}

}  // namespace
}  // namespace quern::test
