// Tests of reading graphs: what the text may look like, and each way in which it is wrong.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "quern/graph.h"
#include "support/ir_test_ops.h"

namespace quern {
namespace {

constexpr std::string_view kText = R"(graph {
  state @kv : kv {heads = 3, key_type = "f32", scale = 0.1}
  %x = Input() {type = "f32[T, 64]"} : f32[T, 64]
  %y = test.scale(%x) {factor = 0.30000000000000004} : f32[T, 64]
  %s = test.split(%y) : f32[T, 64], f32[T, 64]
  %p = test.pick(%s:low, _, %x) : f32[T, 64]
  %w = test.store(%s:high)
  output out = %s:low
}
)";

class ParserTest : public testing::Test {
 protected:
  Result<Graph> parse(std::string_view text) const { return parse_graph(text, registry_); }
  std::string error(std::string_view text) const {
    const auto graph = parse(text);
    return graph ? "no error" : graph.error().message;
  }
  // The error of one line inside a graph with an input %x.
  std::string line_error(std::string_view line) const {
    return error("graph {\n  %x = Input() {type = \"f32[2]\"}\n  " + std::string(line) + "\n}\n");
  }
  const OpRegistry registry_ = test::ir_test_registry();
};

// One of each.
TEST_F(ParserTest, ReadsEveryPartOfAGraph) {
  const auto graph = parse(kText);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->nodes().size(), 5U);
  EXPECT_EQ(graph->states()[0].attributes.integer("heads"), 3);
  EXPECT_EQ(graph->node(1).attributes.number("factor"), 0.30000000000000004);
  EXPECT_EQ(graph->node(3).inputs[1], kNoValue);
  EXPECT_EQ(graph->outputs()[0].value, graph->find_value("s:low"));
}

// People write less than the printer.
TEST_F(ParserTest, BlanksCommentsAndTypesAreOptional) {
  const auto graph = parse(
      // No blank where one is optional, several where one is usual, a tab, and comments on lines of
      // their own and behind a node.
      "# a comment\n\n  graph   {\n\n\t%x=Input(){type=\"f32[T, 64]\"}  # behind\n"
      "%y = test.scale( %x )\n  output y=%y\n}\n\n# the end\n");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->value(graph->find_value("y")).type.to_string(), "f32[T, 64]");
  EXPECT_TRUE(parse("graph {\n}"));
}

// From the left.
TEST_F(ParserTest, SomeOfTheStatedTypesMayStand) {
  EXPECT_EQ(line_error("%s = test.split(%x) : f32[2]"), "no error");
  EXPECT_EQ(line_error("%s = test.split(%x) : f32[2], f32[2]"), "no error");
  EXPECT_EQ(line_error("%s = test.split(%x) : f32[2], f32[2], f32[2]"),
            "Line 3, column 39: the line goes on after its end.");
}

// Where the text ends too early or late.
TEST_F(ParserTest, ErrorsOfTheFrameNameTheLine) {
  EXPECT_EQ(error(""), "The graph's text ends at line 0 without '}'.");
  EXPECT_EQ(error("graph {\n"), "The graph's text ends at line 1 without '}'.");
  EXPECT_EQ(error("grape {\n}\n"), "Line 1, column 1: 'graph' is expected here.");
  // The frame is one line: an opening brace on the next does not count.
  EXPECT_EQ(error("graph\n}\n"), "Line 1, column 6: '{' is expected here.");
  EXPECT_EQ(error("graph {\n}\nmore"), "Line 3, column 1: text stands after the graph's end.");
}

// Each token of a line missing or wrong.
TEST_F(ParserTest, ErrorsOfANodeNameItsColumn) {
  EXPECT_EQ(line_error("y = test.scale(%x)"), "Line 3, column 3: '%' is expected here.");
  EXPECT_EQ(line_error("% = test.scale(%x)"), "Line 3, column 5: a name is expected here.");
  EXPECT_EQ(line_error("%y test.scale(%x)"), "Line 3, column 6: '=' is expected here.");
  EXPECT_EQ(line_error("%y = test.scale %x"), "Line 3, column 19: '(' is expected here.");
  EXPECT_EQ(line_error("%y = test.scale(%x"), "Line 3, column 21: ',' is expected here.");
  EXPECT_EQ(line_error("%y = test.scale(x)"), "Line 3, column 19: '%' is expected here.");
  EXPECT_EQ(line_error("%y = test.scale(%z)"), "Line 3, column 21: '%z' is not defined above.");
  // A node that reads itself: no cycle can be written down.
  EXPECT_EQ(line_error("%y = test.scale(%y)"), "Line 3, column 21: '%y' is not defined above.");
  EXPECT_EQ(line_error("%y = test.scale(%x) : f32"),
            "Line 3, column 25: a type such as f32[T, 64] is expected here.");
  EXPECT_EQ(line_error("%y = test.scale(%x) : f32[3]"),
            "Line 3, column 31: the type f32[3] is stated, but the operation gives f32[2].");
}

// Inside braces and lists.
TEST_F(ParserTest, ErrorsOfAttributesNameTheirColumn) {
  EXPECT_EQ(line_error("%y = test.scale(%x) {factor 2}"),
            "Line 3, column 31: '=' is expected here.");
  EXPECT_EQ(line_error("%y = test.scale(%x) {factor = }"), "Line 3, column 33: '' is not a value.");
  EXPECT_EQ(line_error("%y = test.scale(%x) {factor = 1e999}"),
            // Past the range of f64: an error, not infinity, which has a word of its own.
            "Line 3, column 38: '1e999' is not a value.");
  EXPECT_EQ(line_error("%y = test.scale(%x) {factor = 2 mode = \"a\"}"),
            "Line 3, column 35: ',' is expected here.");
  EXPECT_EQ(line_error("%y = test.scale(%x) {mode = \"a}"),
            "Line 3, column 34: the text has no closing quote.");
  EXPECT_EQ(line_error("%y = test.all(%x) {integers = [1, 2.5]}"),
            "Line 3, column 40: the list mixes kinds of numbers.");
  EXPECT_EQ(line_error("%y = test.all(%x) {integers = [1, 2}"),
            "Line 3, column 38: ',' is expected here.");
  EXPECT_EQ(line_error("%y = test.all(%x) {integers = [1,]}"),
            "Line 3, column 36: '' is not a value.");
}

// The other two kinds of line.
TEST_F(ParserTest, ErrorsOfStatesAndOutputs) {
  EXPECT_EQ(line_error("state kv : kv"), "Line 3, column 9: '@' is expected here.");
  EXPECT_EQ(line_error("state @kv kv"), "Line 3, column 13: ':' is expected here.");
  EXPECT_EQ(line_error("output = %x"), "Line 3, column 10: a name is expected here.");
  EXPECT_EQ(line_error("output y = %z"), "Line 3, column 16: '%z' is not defined above.");
  EXPECT_EQ(line_error("output y = %x more"), "Line 3, column 17: the line goes on after its end.");
  // A word that only begins as a keyword does is none.
  EXPECT_EQ(line_error("states @kv : kv"), "Line 3, column 3: '%' is expected here.");
  EXPECT_EQ(line_error("outputs = %x"), "Line 3, column 3: '%' is expected here.");
}

// What the builder or the verifier finds wrong has the place as well, and one full stop.
TEST_F(ParserTest, ErrorsOfTheGraphNameTheirLine) {
  EXPECT_EQ(line_error("state @kv : kv\n  state @a : kv\n  state @kv : kv"),
            "Line 5, column 17: State 'kv' is declared twice.");
  EXPECT_EQ(line_error("output y = %x\n  output z = %x\n\n  output y = %x"),
            "Line 6, column 16: the output name 'y' is used twice.");
  EXPECT_EQ(line_error("%x = Input() {type = \"f32[2]\"}"),
            "Line 3, column 33: The name 'x' is used twice.");
  // A later line without an error of its own must not be the one that is named.
  EXPECT_EQ(line_error("state @kv : kv\n  state @kv : kv\n  output y = %x"),
            "Line 4, column 17: State 'kv' is declared twice.");
}

// Blanks are blanks, tabs as well.
TEST_F(ParserTest, TabsMayStandBetweenAnyTokens) {
  const auto graph = parse(
      "graph\t{\n\tstate\t@kv\t:\tkv\t{heads\t=\t3}\n\t%x\t=\tInput\t()\t{type\t=\t\"f32[2]\"}\n"
      "\toutput\ty\t=\t%x\t\n}\n");
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->states().size(), 1U);
  EXPECT_EQ(graph->states()[0].name, "kv");
  EXPECT_EQ(graph->states()[0].attributes.integer("heads"), 3);
  ASSERT_EQ(graph->outputs().size(), 1U);
  EXPECT_EQ(graph->outputs()[0].name, "y");
}

// Whatever bytes come, there is a graph or an error: no crash, no hang.
TEST_F(ParserTest, DamagedTextIsAnErrorOrAGraph) {
  std::mt19937 engine(3);
  int errors = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text(kText);
    for (uint32_t edits = engine() % 4 + 1; edits > 0; --edits) {
      const size_t at = engine() % text.size();
      // One to four edits: a byte replaced, up to 7 bytes gone, or up to 11 bytes of the text again
      // at another place, which tends to give text that is nearly right.
      switch (engine() % 3) {
        case 0:
          text[at] = static_cast<char>(engine() % 256);
          break;
        case 1:
          text.erase(at, engine() % 8);
          break;
        default:
          text.insert(at, text.substr(engine() % text.size(), engine() % 12));
      }
      if (text.empty()) break;
    }
    const auto graph = parse(text);
    if (!graph) {
      ++errors;
      EXPECT_FALSE(graph.error().message.empty());
    } else {
      // Whatever was accepted must be printable: names with odd bytes would fail here.
      EXPECT_TRUE(parse(print_graph(*graph)));
    }
  }
  // Most damage must be noticed; a parser that skips what it does not know would pass the rest.
  EXPECT_GT(errors, 2000);
}

}  // namespace
}  // namespace quern
