// Tags, scopes, globals, access and white space control.
#include "support/render_cases.h"

namespace quern::test {
namespace {

// All members of `loop` for 0 to 3 items.
TEST(ForStatement, LoopVariableOfEveryLength) {
  expect_templates({
      {"{% for x in [1] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 "
       "}}{{ loop.first }}{{ loop.last }}{{ loop.length }}{% endfor %}",
       "1010TrueTrue1"},
      {"{% for x in [1, 2] %}{{ loop.index }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last "
       "}};{% endfor %}",
       "11TrueFalse;20FalseTrue;"},
      {"{% for x in 'abc' %}{{ loop.revindex }}{% endfor %}", "321"},
      {"{% for x in [1, 2, 3] %}{{ loop.previtem|default('-') }}{{ loop.nextitem|default('-') }} "
       "{% endfor %}",
       "-2 13 2- "},
      {"{% for x in [] %}{{ loop.index }}{% else %}{{ loop is defined }}{% endfor %}", "False"},
      {"{% for x in [1, 2, 3, 4] %}{{ loop.cycle('a', 'b', 'c') }}{% endfor %}", "abca"},
      {"{% for x in [1, 1, 2, 2, 1] %}{{ 1 if loop.changed(x) else 0 }}{% endfor %}", "10101"},
      {"{% for x in [[1], [1], [2]] %}{{ 1 if loop.changed(x) else 0 }}{% endfor %}", "101"},
      // All calls share one memory of the last arguments, so (x, 5) and (x) differ each time.
      {"{% for x in [1, 2] %}{{ 1 if loop.changed(x, 5) else 0 }}{{ 1 if loop.changed(x) else 0 "
       "}}{% endfor %}",
       "1111"},
      {"{% for x in [1, 2] %}{{ loop.nope|default('none') }}{% endfor %}", "nonenone"},
  });
  expect_refused_templates({
      "{% for x in [1] %}{{ loop.cycle() }}{% endfor %}",
      "{% for x in [1, 2] %}{{ loop.nope.x }}{% endfor %}",
  });
}

// Pairs, nested pairs, and too few or too many values.
TEST(ForStatement, TargetsUnpack) {
  expect_templates({
      {"{% for a, b in [(1, 2), [3, 4], 'xy'] %}{{ a }}{{ b }};{% endfor %}", "12;34;xy;"},
      {"{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "123"},
      {"{% for (a, b) in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}", "12"},
      {"{% for k, v in {'x': 1, 'y': 2}.items() %}{{ k }}={{ v }},{% endfor %}", "x=1,y=2,"},
      {"{% for k in {'x': 1, 'y': 2} %}{{ k }}{% endfor %}", "xy"},
      {"{% for i, x in [[0, 'a']] if i == 0 %}{{ x }}{% endfor %}", "a"},
  });
  expect_refused_templates({

      "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
      "{% for a, b in [(1,)] %}{% endfor %}",
      "{% for a, b in [5] %}{% endfor %}",
      "{% for a.b in [1] %}{% endfor %}",
      "{% for 1 in [1] %}{% endfor %}",
      "{% for none in [1] %}{% endfor %}",
      "{% for x in %}{% endfor %}",
      "{% for x [1] %}{% endfor %}",
      "{% for x in [1] %}",
      "{% for x in [1] %}{% else %}{% else %}{% endfor %}",
  });
}

// Items that are left out do not count in `loop`.
TEST(ForStatement, ConditionsFilterBeforeCounting) {
  expect_templates({
      {"{% for x in [1, 2, 3, 4] if x is even %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% "
       "endfor %}",
       "1/2:2 2/2:4 "},
      {"{% for x in [1, 3] if x is even %}x{% else %}none{% endfor %}", "none"},
      {"{% for x in range(10) if x > 3 if x < 6 %}{{ x }}{% endfor %}", "45"},
      {"{% for x in range(6) if x is odd and x > 1 %}{{ x }}{% endfor %}", "35"},
      {"{% for p in people if p.age == 30 %}{{ p.name }}{{ ',' if not loop.last }}{% endfor %}",
       "Bo,Cy"},
      {"{% for x in [0, 1] if x %}{{ x }}{% endfor %}", "1"},
      {"{% for x in xs|sort if x != 2 %}{{ x }}{% endfor %}", "13"},
  });
  expect_refused_templates({
      "{% for x in [1, 2] if x is nope %}{% endfor %}",
  });
}

// The extension that chat templates rely on.
TEST(ForStatement, BreakAndContinue) {
  expect_templates({
      {"{% for x in range(10) %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %}", "012"},
      {"{% for x in range(5) %}{% if x is odd %}{% continue %}{% endif %}{{ x }}{% endfor %}",
       "024"},
      {"{% for x in range(3) %}{% for y in range(3) %}{% if y == 1 %}{% break %}{% endif %}{{ x "
       "}}{{ y }} {% endfor %}{% endfor %}",
       "00 10 20 "},
      {"{% for x in range(3) %}{% for y in range(2) %}{% endfor %}{% if x == 1 %}{% break %}{% "
       "endif %}{{ x }}{% endfor %}",
       "0"},
      {"{% for x in range(2) %}{% break %}{{ x }}{% endfor %}|", "|"},
      {"{% for x in range(4) %}{{ x }}{% if x == 2 %}{% break %}{% else %}{% continue %}{% endif "
       "%}!{% endfor %}",
       "012"},
  });
  expect_refused_templates({
      "{% if true %}{% break %}{% endif %}",
      "{% continue %}",
  });
}

// What the body sets is gone behind it, but for namespaces.
TEST(ForStatement, ScopesEnd) {
  expect_templates({
      {"{% set x = 'out' %}{% for x in [1, 2] %}{{ x }}{% endfor %}{{ x }}", "12out"},
      {"{% for i in [1, 2] %}{% set y = i %}{% endfor %}{{ y is defined }}", "False"},
      // Each round begins with the names from outside.
      {"{% for i in [1, 2, 3] %}{% if loop.first %}{% set s = 'first' %}{% endif %}{{ "
       "s|default('?') }} {% endfor %}",
       "first ? ? "},
      {"{% set ns = namespace(t=0) %}{% for i in range(5) %}{% set ns.t = ns.t + i %}{% endfor "
       "%}{{ ns.t }}",
       "10"},
      {"{% for i in [1, 2] %}{% for i in 'ab' %}{{ i }}{% endfor %}{{ i }}{% endfor %}", "ab1ab2"},
      {"{% for i in [1, 2] %}{% set outer = loop %}{% for j in 'ab' %}{{ outer.index }}{{ "
       "loop.index }} {% endfor %}{% endfor %}",
       "11 12 21 22 "},
      // The input of that name is only hidden.
      {"{% for name in ['x'] %}{{ name }}{% endfor %}{{ name }}", "xAda"},
  });
}

// The first true branch only.
TEST(IfStatement, Branches) {
  expect_templates({
      {"{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}", "b"},
      {"{% if 0 %}a{% elif '' %}b{% elif [] %}c{% else %}d{% endif %}", "d"},
      {"{% if 0 %}a{% elif '' %}b{% endif %}|", "|"},
      {"{% if missing %}a{% else %}b{% endif %}", "b"},
      {"{% if 1 %}{% if 0 %}a{% else %}b{% endif %}{% else %}c{% endif %}", "b"},
      {"{% if n == 7 and name == 'Ada' %}both{% endif %}", "both"},
      {"{% if not (n > 5) or f %}x{% endif %}", "x"},
      {"{% if 1, 2 %}tuple{% endif %}", "tuple"},
      {"{% if xs and xs[0] == 3 %}three{% endif %}", "three"},
      {"{% if (1 if 0 else 0) %}a{% else %}b{% endif %}", "b"},
  });
  expect_refused_templates({
      "{% if missing.x %}a{% endif %}",
      "{% if 1 %}a{% else %}b{% elif 1 %}c{% endif %}",
      "{% if 1 %}a{% endfor %}",
      "{% elif 1 %}",
      "{% if 1 %}{% else %}",
      "{% if = 1 %}{% endif %}",
  });
}

// And blocks, whose text passes through filters.
TEST(SetStatement, NamesTuplesAndAttributes) {
  expect_templates({
      {"{% set a = 1 %}{% set a = a + 1 %}{{ a }}", "2"},
      {"{% set a, b, c = 'xyz' %}{{ c }}{{ b }}{{ a }}", "zyx"},
      {"{% set a, b = b|default(1), a|default(2) %}{{ a }}{{ b }}", "12"},
      {"{% set (a, b), c = (1, 2), 3 %}{{ a }}{{ b }}{{ c }}", "123"},
      {"{% set ns = namespace() %}{% set ns.a, b = 1, 2 %}{{ ns.a }}{{ b }}", "12"},
      {"{% set ns = namespace(a=1) %}{% set ns.a = ns.a + 1 %}{% set ns.b = 'x' %}{{ ns.a }}{{ "
       "ns.b }}{{ ns.c is defined }}",
       "2xFalse"},
      {"{% set a = [1, 2] %}{{ a }}{% set a %}{{ a|length }}{% endset %}{{ a }}", "[1, 2]2"},
      {"{% set t %}{% for x in xs %}{{ x }}{% endfor %}{% endset %}[{{ t }}]{{ t|length }}",
       "[312]3"},
      {"{% set t | trim | upper %}  a b  {% endset %}[{{ t }}]", "[A B]"},
      {"{% set t | replace('a', 'b') %}banana{% endset %}{{ t }}", "bbnbnb"},
      {"{% set x = 1 if missing else 2 %}{{ x }}", "2"},
      {"{% set x = missing %}{{ x is defined }}", "False"},
  });
  expect_refused_templates({
      "{% set a, b = [1] %}",
      "{% set a, b = 5 %}",
      "{% set a, b = missing %}",
      "{% set d.x = 1 %}",
      "{% set missing.x = 1 %}",
      "{% set a[0] = 1 %}",
      "{% set 'a' = 1 %}",
      "{% set a == 1 %}",
      "{% set a %}",
      "{% set a = %}",
  });
}

// Variables end with the block.
TEST(WithStatement, Scopes) {
  expect_templates({
      {"{% with a = 1 %}{{ a }}{% endwith %}{{ a is defined }}", "1False"},
      {"{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}", "3"},
      // The values are computed before the names get them.
      {"{% set a = 5 %}{% with a = 1, b = a %}{{ b }}{% endwith %}{{ a }}", "55"},
      {"{% with %}{% set z = 1 %}{{ z }}{% endwith %}{{ z is defined }}", "1False"},
      {"{% with a = 1 %}{% with a = 2 %}{{ a }}{% endwith %}{{ a }}{% endwith %}", "21"},
  });
  expect_refused_templates({
      "{% with a, b = 1, 2 %}{{ a }}{% endwith %}",
      "{% with a %}{% endwith %}",
      "{% with a = 1 %}",
  });
}

// Fallbacks, names, varargs and kwargs.
TEST(MacroStatement, Arguments) {
  expect_templates({
      {"{% macro m(a, b=2, c=3) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, c=9) }} {{ "
       "m(c=1, a=2) }} {{ m(1, 2, 4) }}",
       "123 129 221 124"},
      {"{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}{{ m(none) }}", "FalseTrue"},
      // A default may use the parameters before it.
      {"{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}", "12"},
      {"{% macro m(a=[]) %}{{ a }}{% endmacro %}{{ m() }}{{ m([1]) }}", "[][1]"},
      {"{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m() }}{{ m(1, x=2) }}",
       "(){}(1,){'x': 2}"},
      {"{% macro m(a) %}{{ a }}{{ varargs|length }}{% endmacro %}{{ m(1, 2, 3) }}", "12"},
      {"{% macro m(a) %}{{ a }}{{ kwargs|length }}{% endmacro %}{{ m(a=1, b=2) }}", "11"},
      {"{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}", "12"},
      {"{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(1, *[2]) }}{{ m(1, **{'b': 3}) }}",
       "1213"},
  });
  expect_refused_templates({
      "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
      "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=1) }}",
      "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}",
      "{% macro m(a) %}{% endmacro %}{{ m(**5) }}",
      "{% macro m(a) %}{% endmacro %}{{ m(*5) }}",
      "{% macro m(a, a) %}{% endmacro %}",
      "{% macro (a) %}{% endmacro %}",
      "{% macro m %}{% endmacro %}",
      "{% macro m(1) %}{% endmacro %}",
      "{% macro m() %}",
  });
}

// A macro sees where it was defined, and `caller` only within {% call %}.
TEST(MacroStatement, ScopesAndCallers) {
  expect_templates({
      // The name is looked up when the macro is called.
      {"{% macro m() %}{{ name }}{% endmacro %}{% set name = 'Bo' %}{{ m() }}", "Bo"},
      {"{% macro m() %}{% set inside = 1 %}{{ inside }}{% endmacro %}{{ m() }}{{ inside is defined "
       "}}",
       "1False"},
      {"{% macro f(n) %}{% if n > 1 %}{{ n }}*{{ f(n - 1) }}{% else %}1{% endif %}{% endmacro %}{{ "
       "f(5) }}",
       "5*4*3*2*1"},
      {"{% macro even(n) %}{% if n == 0 %}yes{% else %}{{ odd(n - 1) }}{% endif %}{% endmacro %}{% "
       "macro odd(n) %}{% if n == 0 %}no{% else %}{{ even(n - 1) }}{% endif %}{% endmacro %}{{ "
       "even(4) }}{{ even(3) }}",
       "yesno"},
      {"{% macro b() %}<b>{{ caller() }}</b>{% endmacro %}{% call b() %}x{% call b() %}y{% endcall "
       "%}{% endcall %}",
       "<b>x<b>y</b></b>"},
      {"{% macro rows(xs) %}{% for x in xs %}{{ caller(x) }}{% endfor %}{% endmacro %}{% call(v) "
       "rows(xs) %}({{ v }}){% endcall %}",
       "(3)(1)(2)"},
      {"{% macro rows(xs) %}{{ caller(*xs) }}{% endmacro %}{% call(a, b=9) rows([1]) %}{{ a }}{{ b "
       "}}{% endcall %}",
       "19"},
      {"{% macro m() %}{{ caller }}{% endmacro %}{{ m() }}|", "|"},
      {"{% macro m() %}  a  {% endmacro %}[{{ m()|trim }}][{{ m() ~ 1 }}][{{ m()|length }}]",
       "[a][  a  1][5]"},
  });
  expect_refused_templates({
      "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
      "{% macro m() %}x{% endmacro %}{% call m() %}{% endcall %}",
      "{% call name %}{% endcall %}",
      "{% call missing() %}{% endcall %}",
      "{% macro m() %}{% break %}{% endmacro %}",
      // The macro may be called anywhere, so the loop around it is none of its own.
      "{% for i in [1] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
  });
}

// From left to right.
TEST(FilterBlocks, Chain) {
  expect_templates({
      {"{% filter upper %}a{{ name }}{% endfilter %}", "AADA"},
      {"{% filter trim|upper|replace('A', 'b') %}  aXa {% endfilter %}", "bXb"},
      {"{% filter indent(2, true) %}a\nb{% endfilter %}", "  a\n  b"},
      {"{% filter upper %}{% filter replace('a', 'z') %}aA{% endfilter %}{% endfilter %}", "ZA"},
      {"{% filter upper %}{% set q = 1 %}{% endfilter %}{{ q is defined }}", "False"},
  });
  expect_refused_templates({

      "{% filter nope %}x{% endfilter %}",
      "{% filter %}x{% endfilter %}",
      "{% filter upper %}x",
  });
}

// Functions that every template has.
TEST(Globals, RangeNamespaceJoinerCycler) {
  expect_values({
      {"range(0)|list", "[]"},
      {"range(3)|list", "[0, 1, 2]"},
      {"range(2, 5)|list", "[2, 3, 4]"},
      {"range(5, 2)|list", "[]"},
      {"range(5, 2, -1)|list", "[5, 4, 3]"},
      {"range(0, 10, 3)|list", "[0, 3, 6, 9]"},
      {"range(-3)|list", "[]"},
      {"range(-3, 0)|list", "[-3, -2, -1]"},
      {"range(3)", "range(0, 3)"},
      {"range(1, 3)", "range(1, 3)"},
      {"range(0, 9, 2)", "range(0, 9, 2)"},
      {"range(3)[1]", "1"},
      {"range(3)[-1]", "2"},
      {"range(10)[2:8:3]|list", "[2, 5]"},
      {"range(3) == range(3)", "True"},
      // Ranges are equal when their numbers are: 0 and 2.
      {"range(0, 3, 2) == range(0, 4, 2)", "True"},
      {"range(100000)|length", "100000"},
      {"namespace(a=1).a", "1"},
      {"namespace({'a': 1}).a", "1"},
      {"namespace(a=1).b is defined", "False"},
  });
  expect_templates({
      {"{% set j = joiner() %}{{ j() }}{{ j() }}{{ j() }}", ", , "},
      {"{% set j = joiner('-') %}{% for x in xs %}{{ j() }}{{ x }}{% endfor %}", "3-1-2"},
      {"{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ "
       "c.reset() }}{{ c.next() }}",
       "ababNonea"},
      {"{% if false %}{{ raise_exception('stop') }}{% endif %}fine", "fine"},
  });
  expect_refused({
      // The sandbox's limit is 100,000 numbers.
      "range(100001)",
      "range('a')",
      "range(1.5)",
      "range()",
      "range(1, 2, 3, 4)",
      "range(0, 5, 0)",
      "namespace(5)",
      "cycler()",
  });
  expect_refused_templates({
      "{{ raise_exception('stop') }}",
  });
}

// Attributes and items, in the order that Jinja tries them.
TEST(Access, DotsAndBrackets) {
  expect_values({
      {"d.a", "1"},
      {"d['a']", "1"},
      {"d.zz is defined", "False"},
      {"d['zz'] is defined", "False"},
      // Brackets look for an item first and then for an attribute, dots the other way round.
      {"d['keys'] is callable", "True"},
      {"people[0].name", "Bo"},
      {"people[-1]['name']", "Cy"},
      {"people[5] is defined", "False"},
      {"people.0.name", "Bo"},
      {"xs.0", "3"},
      {"xs[-3]", "3"},
      {"xs[-4] is defined", "False"},
      {"xs['0'] is defined", "False"},
      {"name.0", "A"},
      {"name[1:]", "da"},
      {"name[-1]", "a"},
      {"name[9] is defined", "False"},
      {"uni[2]", "ö"},
      {"uni[-1]", "🙂"},
      {"n.x is defined", "False"},
      {"none.x is defined", "False"},
      {"none[0] is defined", "False"},
      {"d[none] is defined", "False"},
      {"d[[]] is defined", "False"},
      {"{1: 'a'}[1]", "a"},
      {"{1: 'a'}[true]", "a"},
      {"{1: 'a'}['1'] is defined", "False"},
      {"{'a': {'b': {'c': 1}}}.a.b.c", "1"},
      {"[[1, 2], [3]][0][1]", "2"},
      {"(1, 2)[0]", "1"},
      {"'abc'['upper']()", "ABC"},
      {"xs[0, 1] is defined", "False"},
      {"xs[:]", "[3, 1, 2]"},
      {"xs[::-1]", "[2, 1, 3]"},
      {"xs[1:1]", "[]"},
      {"'abcdef'[1:5:2]", "bd"},
      {"(1, 2, 3)[::2]", "(1, 3)"},

  });
  expect_refused({
      "d.zz.y",
      "people[5].name",
      "n.x.y",
      "d[:1]",
      "xs['a':]",
      "xs[::0]",
  });
}

// As chat templates are rendered: line breaks behind block tags go.
TEST(Whitespace, TrimAndStripOfBlocks) {
  expect_templates({
      {"a\n{% if 1 %}\nb\n{% endif %}\nc", "a\nb\nc"},
      {"a\n  {% if 1 %}\n  b\n  {% endif %}\nc", "a\n  b\nc"},
      {"a {% if 1 %} b {% endif %} c", "a  b  c"},
      // Only one line end goes behind a tag.
      {"a\n\t{% if 1 %}b{% endif %}\n\nc", "a\nb\nc"},
      {"{% if 1 %}\n\na{% endif %}\n", "\na"},
      // Spaces behind the tag keep the line end: it does not follow at once.
      {"  {% set x = 1 %}  \na", "  \na"},
      {"  {# c #}\na", "a"},
      {"a {# c #} b", "a  b"},
      // Output tags leave everything around them as it is.
      {"a\n  {{ 1 }}  \nb", "a\n  1  \nb"},
      {"\n{{ 1 }}\n", "\n1"},
      {"{{ 1 }}\n\n", "1\n"},
      {"  {{ 1 }}", "  1"},
      {"{% if 1 %}a{% endif %}  \n  {% if 1 %}b{% endif %}", "a  \nb"},
      {"{%- if 1 %} a {%- endif %} b", " a b"},
      {"a {% if 1 -%}  b  {% endif -%}  c", "a b  c"},
      {"a\n  {%- if 1 -%}\n  b\n  {%- endif -%}\n  c", "abc"},
      // The plus sign switches stripping off for this tag.
      {"  {%+ if 1 %}a{% endif %}", "  a"},
      {"{% if 1 +%}\na{% endif +%}\nb", "\na\nb"},
      {"{{- 1 -}}  a  {{- 2 -}}", "1a2"},
      {"a {{- ' ' -}} b", "a b"},
      {"a {#- c -#} b", "ab"},
      {"a {# c -#}  b {#- c #}", "a b"},
      {"{%-if 1-%}a{%-endif-%}", "a"},
      {"{% raw %} {{ x }} {% endraw %}", " {{ x }} "},
      {"a {%- raw %} b {% endraw -%} c", "a b c"},
      {"{% raw %}\na\n{% endraw %}\nb", "\na\nb"},
      {"{% raw -%} a {%- endraw %}", "a"},
      {"{% raw %}{% if %}{# #}{{{% endraw %}", "{% if %}{# #}{{"},
      {"{% for x in [1, 2] %}\n- {{ x }}\n{% endfor %}\ndone", "- 1\n- 2\ndone"},
      {"{% for x in [1, 2] -%}\n- {{ x }}\n{% endfor -%}\ndone", "- 1\n- 2\ndone"},
      {"a{% set x %}\nb\n{% endset %}[{{ x }}]", "a[b\n]"},
      {"{%- macro m() -%} x {%- endmacro -%} [{{ m() }}]", "[x]"},
  });
}

// Templates that Jinja does not compile either.
TEST(Sources, BrokenOnesAreRefused) {
  expect_templates({});
  expect_refused_templates({
      "{{",
      "{{ }",
      "{%",
      "{% if 1",
      "{{ 'a }}",
      "{{ \"a' }}",
      "{{ 1 1 }}",
      "{{ a..b }}",
      "{{ a. }}",
      "{{ a[ }}",
      "{{ a[] }}",
      "{{ (1 }}",
      "{{ 1) }}",
      "{{ [1 }}",
      "{{ {1: } }}",
      "{{ {1} }}",
      "{{ a(1 2) }}",
      "{{ a(,) }}",
      "{{ a(b=1, 2) }}",
      "{{ a(**{}, 1) }}",
      "{{ a | }}",
      "{{ | upper }}",
      "{{ a | 1 }}",
      "{{ a is }}",
      "{{ a is not }}",
      "{{ not }}",
      "{{ 1 + }}",
      "{{ * 1 }}",
      "{{ 1 if }}",
      "{{ if 1 else 2 }}",
      "{{ @ }}",
      "{{ a $ b }}",
      "{{ `a` }}",
      "{{ a; b }}",
      "{% if 1 %}{% endif x %}",
      "{% endif %}",
      "{% endfor %}",
      "{% unknown %}",
      "{% block x %}{% endblock %}{% nope %}",
  });
}

}  // namespace
}  // namespace quern::test
