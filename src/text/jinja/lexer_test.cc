#include "text/jinja/lexer.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "text/jinja/string_escapes.h"

namespace quern::jinja {
namespace {

// The tokens in short: T'text' for text, and inside of tags n:name s:string i:integer f:float and
// operators as they are.
std::string show(const Token& token) {
  switch (token.kind) {
    case TokenKind::kText:
      return "T'" + token.text + "'";
    case TokenKind::kName:
      return "n:" + token.text;
    case TokenKind::kString:
      return "s:" + token.text;
    case TokenKind::kInteger:
      return fmt::format("i:{}", token.integer);
    case TokenKind::kFloat:
      return fmt::format("f:{}", token.real);
    case TokenKind::kOperator:
      return token.text;
    case TokenKind::kEnd:
      return "end";
    default:
      return describe(token).substr(1, 2);
  }
}

// The tokens in one line, or the error and its place.
std::string lexed(std::string_view source) {
  Lexer lexer(source);
  const auto tokens = lexer.lex();
  if (!tokens) return fmt::format("{} at {}", tokens.error().message, lexer.error_offset());
  std::string out;
  for (const Token& token : *tokens) out += (out.empty() ? "" : " ") + show(token);
  return out;
}

// Tokens in short: T is text, names and operators stand for themselves.
TEST(Lexer, TextAndTags) {
  EXPECT_EQ(lexed(""), "end");
  EXPECT_EQ(lexed("plain { text } % #"), "T'plain { text } % #' end");
  EXPECT_EQ(lexed("a{{ b }}c"), "T'a' {{ n:b }} T'c' end");
  EXPECT_EQ(lexed("{% if x %}"), "{% n:if n:x %} end");
  EXPECT_EQ(lexed("a{# b {{ c }} #}d"), "T'a' T'd' end");
  // Braces that were opened inside of a tag close before the tag does.
  EXPECT_EQ(lexed("{{{{}}}}"), "{{ { { } } }} end");
  EXPECT_EQ(lexed("{"), "T'{' end");
  EXPECT_EQ(lexed("{{}}"), "{{ }} end");
}

// Underscores, prefixes, exponents, and what only looks like one.
TEST(Lexer, NumbersOfEveryBase) {
  EXPECT_EQ(lexed("{{ 0 7 1_000 0x1F 0XfF 0b101 0o17 00 }}"),
            "{{ i:0 i:7 i:1000 i:31 i:255 i:5 i:15 i:0 }} end");
  EXPECT_EQ(lexed("{{ 1.5 1e3 1E-2 1_0.2_5 2e+1 0.0 }}"),
            "{{ f:1.5 f:1000 f:0.01 f:10.25 f:20 f:0 }} end");
  EXPECT_EQ(lexed("{{ 1.a }}"), "{{ i:1 . n:a }} end");
  // Jinja wants a digit behind the point, other than Python.
  EXPECT_EQ(lexed("{{ 1.e5 }}"), "{{ i:1 . n:e5 }} end");
  EXPECT_EQ(lexed("{{ a.0.5 }}"), "{{ n:a . i:0 . i:5 }} end");
  EXPECT_EQ(lexed("{{ 1e }}"), "{{ i:1 n:e }} end");
  EXPECT_EQ(lexed("{{ 1_ }}"), "{{ i:1 n:_ }} end");
  EXPECT_EQ(lexed("{{ 9223372036854775807 }}"), "{{ i:9223372036854775807 }} end");
  // Floats out of range.
  EXPECT_EQ(lexed("{{ 1E-400 1e-400 1E400 }}"), "{{ f:0 f:0 f:inf }} end");
  EXPECT_EQ(lexed("{{ 0." + std::string(330, '0') + "1 }}"), "{{ f:0 }} end");
  EXPECT_EQ(lexed("{{ 1_0.2_5e1_0 0E999 }}"), "{{ f:102500000000 f:0 }} end");
  EXPECT_EQ(lexed("{{ 9223372036854775808 }}"),
            "The number 9223372036854775808 does not fit in 64 bits at 3");
  EXPECT_EQ(lexed("{{ 0x }}"), "The number has no digits at 3");
  // Too large and too small for a float, and no error.
  EXPECT_EQ(lexed("{{ 1e999 1e-999 }}"), "{{ f:inf f:0 }} end");
}

// "//" is one operator, not two.
TEST(Lexer, OperatorsTakeTheLongestMatch) {
  EXPECT_EQ(lexed("{{ ** * // / == = != <= < >= > ~ % | . , : + - }}"),
            "{{ ** * // / == = != <= < >= > ~ % | . , : + - }} end");
  EXPECT_EQ(lexed("{{ ([{}]) }}"), "{{ ( [ { } ] ) }} end");
  // Four braces: two dicts end, then the tag.
  EXPECT_EQ(lexed("{{ {'a': {}}}}"), "{{ { s:a : { } } }} end");
  EXPECT_EQ(lexed("{{ ! }}"), "The character '!' has no meaning here at 3");
  EXPECT_EQ(lexed("{{ (] }}"), "']' closes nothing at 4");
  EXPECT_EQ(lexed("{{ ) }}"), "')' closes nothing at 3");
  EXPECT_EQ(lexed("{{ ( }}"), "'}' closes nothing at 5");
}

// '-' strips all of it, '+' none.
TEST(Lexer, SignsStripSpaceAroundTags) {
  EXPECT_EQ(lexed("a  {{- b -}}  c"), "T'a' {{ n:b }} T'c' end");
  EXPECT_EQ(lexed("a \n {%- b -%} \n c"), "T'a' {% n:b %} T'c' end");
  // lstrip_blocks takes the spaces before a block that begins its line, trim_blocks the line end
  // behind it.
  EXPECT_EQ(lexed("a\n  {% b %}\nc"), "T'a\n' {% n:b %} T'c' end");
  EXPECT_EQ(lexed("a\n  {%+ b +%}\nc"), "T'a\n  ' {% n:b %} T'\nc' end");
  EXPECT_EQ(lexed("a {% b %} c"), "T'a ' {% n:b %} T' c' end");
  EXPECT_EQ(lexed("  {% a %}  {% b %}"), "{% n:a %} T'  ' {% n:b %} end");
  EXPECT_EQ(lexed("{% a %}\n  {% b %}"), "{% n:a %} {% n:b %} end");
  EXPECT_EQ(lexed("a {#- b -#} c"), "T'a' T'c' end");
  // The sign belongs to the tag, so this is 1 and not -1.
  EXPECT_EQ(lexed("{{-1}}"), "{{ i:1 }} end");
  EXPECT_EQ(lexed("{{ - 1 }}"), "{{ - i:1 }} end");
}

// Tags inside are text.
TEST(Lexer, RawBlocksAreText) {
  EXPECT_EQ(lexed("{% raw %}{{ x }}{% endraw %}"), "T'{{ x }}' end");
  EXPECT_EQ(lexed("{%raw%}{%endraw%}"), "end");
  EXPECT_EQ(lexed("{% raw %}{% end %}{% endraw %}"), "T'{% end %}' end");
  EXPECT_EQ(lexed("{% raw -%} a {%- endraw -%} b"), "T'a' T'b' end");
  EXPECT_EQ(lexed("{% raw %}\na\n{% endraw %}\nb"), "T'\na\n' T'b' end");
  EXPECT_EQ(lexed("{% rawx %}"), "{% n:rawx %} end");
  EXPECT_EQ(lexed("x{% raw %}"), "The block 'raw' has no end '{% endraw %}' at 1");
}

// The place is that of the begin: the end could be anywhere.
TEST(Lexer, UnfinishedTagsNameTheirBegin) {
  EXPECT_EQ(lexed("ab{{ c"), "The tag has no end '}}' at 2");
  EXPECT_EQ(lexed("ab{% c"), "The tag has no end '%}' at 2");
  EXPECT_EQ(lexed("ab{% c }}"), "'}' closes nothing at 7");
  EXPECT_EQ(lexed("ab{# c"), "The comment has no end '#}' at 2");
  EXPECT_EQ(lexed("{{ 'abc }}"), "The string has no end at 3");
  // The escaped quote does not end it.
  EXPECT_EQ(lexed("{{ \"a\\\" }}"), "The string has no end at 3");
}

// Whatever is cut off, lexing ends with tokens or with a place inside of the source.
TEST(Lexer, EveryPrefixOfATemplateIsHandled) {
  const std::string source =
      "a {%- for x in [1, 2.5, 'q\\x41'] -%} {{ x|upper ~ \"é\" }} {# c #}{% raw %}{{{% endraw %}"
      "{% endfor %}\n{{ {'k': (1,)}['k'] }}";
  for (size_t size = 0; size <= source.size(); ++size) {
    Lexer lexer(std::string_view(source).substr(0, size));
    const auto tokens = lexer.lex();
    if (tokens) {
      ASSERT_FALSE(tokens->empty());
      EXPECT_EQ(tokens->back().kind, TokenKind::kEnd);
      EXPECT_EQ(tokens->back().offset, size);
    } else {
      EXPECT_LE(lexer.error_offset(), size);
      EXPECT_EQ(tokens.error().code, ErrorCode::kInvalidArgument);
    }
  }
}

// As Jinja reads its sources.
TEST(NormalizeSource, LineEndsAreOneAndTheLastIsDropped) {
  EXPECT_EQ(normalize_source(""), "");
  EXPECT_EQ(normalize_source("\n"), "");
  EXPECT_EQ(normalize_source("\n\n"), "\n");
  EXPECT_EQ(normalize_source("a\r\nb\rc\n"), "a\nb\nc");
  EXPECT_EQ(normalize_source("\r\r\n\n"), "\n\n");
  EXPECT_EQ(normalize_source("a\r"), "a");
}

// For errors such as "Expected ..., found ...".
TEST(Describe, EveryTokenHasAName) {
  EXPECT_EQ(describe({TokenKind::kEnd, 0, ""}), "the end of the template");
  EXPECT_EQ(describe({TokenKind::kText, 0, "x"}), "text");
  EXPECT_EQ(describe({TokenKind::kOutputBegin, 0, ""}), "'{{'");
  EXPECT_EQ(describe({TokenKind::kOutputEnd, 0, ""}), "'}}'");
  EXPECT_EQ(describe({TokenKind::kBlockBegin, 0, ""}), "'{%'");
  EXPECT_EQ(describe({TokenKind::kBlockEnd, 0, ""}), "'%}'");
  EXPECT_EQ(describe({TokenKind::kString, 0, "x"}), "a string");
  EXPECT_EQ(describe({TokenKind::kInteger, 0, ""}), "a number");
  EXPECT_EQ(describe({TokenKind::kFloat, 0, ""}), "a number");
  EXPECT_EQ(describe({TokenKind::kName, 0, "x"}), "'x'");
  EXPECT_EQ(describe({TokenKind::kOperator, 0, "+"}), "'+'");
}

// Unknown escapes keep their backslash.
TEST(StringEscapes, AreThoseOfPython) {
  const auto resolved = [](std::string_view text) {
    const auto out = resolve_escapes(text);
    return out ? *out : "! " + out.error().message;
  };
  EXPECT_EQ(resolved("plain"), "plain");
  EXPECT_EQ(resolved(R"(\\\'\"\a\b\f\n\r\t\v)"), "\\'\"\a\b\f\n\r\t\v");
  EXPECT_EQ(resolved(R"(\x41\u00e9\U0001F642)"), "Aé🙂");
  EXPECT_EQ(resolved(R"(\101\7\18\0)"), std::string("A\7\1"
                                                    "8\0",
                                                    5));
  // Octal escapes of three digits go past one byte: they are code points.
  EXPECT_EQ(resolved(R"(\400\777)"), "\u0100\u01FF");
  EXPECT_EQ(resolved("a\\\nb"), "ab");
  EXPECT_EQ(resolved(R"(\q\d\ )"), R"(\q\d\ )");
  EXPECT_EQ(resolved("\\"), "\\");
  EXPECT_EQ(resolved(R"(\ud83d\ude42)"), "🙂");
  // Python strings may hold half a pair; UTF-8 may not.
  EXPECT_EQ(resolved(R"(\ud83d)"), "\uFFFD");
  EXPECT_EQ(resolved(R"(\ude42\ud83dx)"), "\uFFFD\uFFFDx");
  EXPECT_EQ(resolved(R"(\x4)"), "! The escape '\\x4' is broken");
  EXPECT_EQ(resolved(R"(\xg0)"), "! The escape '\\xg0' is broken");
  EXPECT_EQ(resolved(R"(\u12)"), "! The escape '\\u12' is broken");
  EXPECT_EQ(resolved(R"(\U00110000)"), "! The escape '\\U00110000' is broken");
  EXPECT_EQ(resolved(R"(\x-1)"), "! The escape '\\x-1' is broken");
}

}  // namespace
}  // namespace quern::jinja
