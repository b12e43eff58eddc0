#include "formats/manifest/variables.h"

#include <gtest/gtest.h>

#include "formats/manifest/integer_expression.h"

namespace quern::manifest {
namespace {

Result<int64_t> evaluate(std::string_view text) {
  return evaluate_expression(text, [](std::string_view name) -> Result<int64_t> {
    if (name == "i") return 7;
    if (name == "a.b") return -3;
    return fail::not_found("There is no variable '{}'.", name);
  });
}

// Precedence, signs, brackets and names.
TEST(IntegerExpression, Computes) {
  const struct {
    const char* text;
    int64_t value;
  } cases[] = {{"3", 3},
               {"i", 7},
               {"a.b", -3},
               {"i + 1", 8},
               {"i-1", 6},
               {" i * 2 + 1", 15},
               {"2 * (i + 1)", 16},
               {"i / 2", 3},
               // Truncation towards zero, as C++ has it: -7 / 2 is -3, not -4.
               {"-i / 2", -3},
               {"i % 4", 3},
               {"-i", -7},
               {"--i", 7},
               // From the left; a recursive sum from the right would give 9.
               {"10 - 4 - 3", 3},
               {"2+3*4", 14},
               {"a.b*a.b", 9},
               {"i / -1", -7},
               {"i % -1", 0},
               {"((((1))))", 1},
               // The least number cannot be written as one literal: its positive half does not fit.
               {"-9223372036854775807 - 1", INT64_MIN}};
  for (const auto& c : cases) {
    const auto value = evaluate(c.text);
    ASSERT_TRUE(value) << c.text << ": " << value.error().message;
    EXPECT_EQ(*value, c.value) << c.text;
  }
}

// Divisions by 0 and overflow, both ways.
TEST(IntegerExpression, RefusesWhatItCannotCompute) {
  const auto error = [](std::string_view text) {
    const auto value = evaluate(text);
    return value ? "no error" : value.error().message;
  };
  for (const char* text :
       {"", " ", "+", "1 +", "(1", "1)", "1 2", "a..b c", "1.5", "i i", "$", "*i"}) {
    EXPECT_NE(error(text), "no error") << text;
  }
  EXPECT_EQ(error("i / 0"), "'i / 0' divides by zero.");
  EXPECT_EQ(error("i % (i - 7)"), "'i % (i - 7)' divides by zero.");
  EXPECT_EQ(error("9223372036854775807 + 1"),
            "'9223372036854775807 + 1' passes the range of 64-bit integers.");
  EXPECT_EQ(error("(-9223372036854775807 - 1) / -1"),
            "'(-9223372036854775807 - 1) / -1' passes the range of 64-bit integers.");
  EXPECT_EQ(error("9223372036854775808"),
            "'9223372036854775808' passes the range of 64-bit integers.");
  EXPECT_EQ(error("none"), "There is no variable 'none'.");
  EXPECT_EQ(error(std::string(300, '(')), "An expression has 300 characters; the limit is 256.");
  // The deepest recursion that the limit allows: an error of syntax, not of the stack.
  EXPECT_NE(error(std::string(256, '(')), "no error");
  EXPECT_NE(error(std::string(256, '-')), "no error");
}

// Of a section of a manifest.
Result<Variables> make(std::string_view text, const std::map<std::string, std::string>& set = {}) {
  QUERN_ASSIGN_OR_RETURN(const YamlNode tree, parse_yaml(text, "v.yaml"));
  return Variables::make(&tree, set);
}

// Why the section cannot be resolved.
std::string error_of(std::string_view text, const std::map<std::string, std::string>& set = {}) {
  const auto variables = make(text, set);
  return variables ? "no error" : variables.error().message;
}

// As text, or the error.
std::string value_of(const Variables& variables, std::string_view name) {
  const auto value = variables.value(name);
  return value ? value->text : value.error().message;
}

// Which is how overrides name them.
TEST(Variables, MapsAreDottedPaths) {
  const auto variables = make("model:\n  layers: 3\n  size: {in: 4, out: 2}\nlist: [7, 8]\n");
  ASSERT_TRUE(variables) << variables.error().message;
  EXPECT_EQ(value_of(*variables, "model.layers"), "3");
  EXPECT_EQ(value_of(*variables, "model.size.out"), "2");
  EXPECT_EQ(value_of(*variables, "list.1"), "8");
  EXPECT_EQ(value_of(*variables, "list.2"), "There is no variable 'list.2'.");
  EXPECT_EQ(value_of(*variables, "model"), "There is no variable 'model'.");
  EXPECT_TRUE(variables->value("list")->is_sequence());
}

// Unless in a circle.
TEST(Variables, UseEachOtherInAnyOrder) {
  const auto variables = make(
      "total: ${half * 2}\nhalf: ${base.x}\nbase: {x: 21}\nname: layer ${half} of ${total}\n"
      "dims: ['${half}', 1]\nfirst: ${dims.0}\n");
  ASSERT_TRUE(variables) << variables.error().message;
  EXPECT_EQ(value_of(*variables, "total"), "42");
  EXPECT_EQ(value_of(*variables, "name"), "layer 21 of 42");
  EXPECT_EQ(value_of(*variables, "first"), "21");
}

// Other variables see the new value.
TEST(Variables, OverridesComeFirst) {
  const auto variables = make("n: 1\ntwice: ${n * 2}\n", {{"n", "5"}});
  ASSERT_TRUE(variables) << variables.error().message;
  EXPECT_EQ(value_of(*variables, "twice"), "10");
  EXPECT_EQ(error_of("n: 1\n", {{"m", "5"}}), "The manifest has no variable 'm' to set.");
}

// Of the variable, not of its use.
TEST(Variables, ErrorsNameFileAndLine) {
  EXPECT_EQ(error_of("a: 1\nb: ${c}\n"), "v.yaml:2: There is no variable 'c'.");
  EXPECT_EQ(error_of("a: ${b}\nb: ${a}\n"),
            // One place for each step of the circle: a in line 1, b in line 2, and a again.
            "v.yaml:1: v.yaml:2: v.yaml:1: Variable 'a' depends on itself.");
  EXPECT_EQ(error_of("a: ${a}\n"), "v.yaml:1: v.yaml:1: Variable 'a' depends on itself.");
  EXPECT_EQ(error_of("a: 1\nb:\n"), "v.yaml:2: Variable 'b' is empty.");
  EXPECT_EQ(error_of("a: [[1]]\n"),
            "v.yaml:1: Variable 'a' holds a list in its list; only scalars fit.");
  EXPECT_EQ(error_of("a-b: 1\n"),
            "v.yaml:1: 'a-b' is not a name for a variable; letters, digits and _ make one.");
  EXPECT_EQ(error_of("a.b: 1\n").substr(0, 15), "v.yaml:1: 'a.b'");
  EXPECT_EQ(error_of("a: x\nb: ${a + 1}\n"),
            "v.yaml:2: Variable 'a' is 'x'; arithmetic needs an integer.");
  EXPECT_EQ(error_of("a: [1]\nb: x${a}\n"),
            "v.yaml:2: 'x${a}' puts a list into text; only a scalar fits.");
  EXPECT_EQ(error_of("a: ${b\n"), "v.yaml:1: '${b' has a ${ without }.");
  EXPECT_EQ(error_of("- 1\n"), "v.yaml:1: 'variables' is a list; a map is needed.");
}

// Each variable holds the one before it twice: 2^40 characters if nothing stopped it.
TEST(Variables, GrowthIsBounded) {
  std::string text = "v0: xxxxxxxx\n";
  for (int i = 1; i < 40; ++i) text += fmt::format("v{}: ${{v{}}}${{v{}}}\n", i, i - 1, i - 1);
  EXPECT_NE(error_of(text).find("A text grows past 65536 characters."), std::string::npos);
  // A chain of 1,000: in whatever order it is resolved, there is a value or an error.
  std::string chain = "v0: 1\n";
  for (int i = 1; i < 1000; ++i) chain += fmt::format("v{}: ${{v{} + 1}}\n", i, i - 1);
  const std::string error = error_of(chain);
  EXPECT_TRUE(error == "no error" || error.find("more than 64 deep") != std::string::npos) << error;
}

// Whole values keep their kind, parts become text.
TEST(Substitute, ReplacesInTheWholeTree) {
  const auto variables = make("n: 3\nshape: [T, 4]\n");
  const auto tree = parse_yaml("a: h${i}\nb: ${shape}\nc: ['${i - 1}', 'x']\nd: $${n}\n", "t.yaml");
  const Scope scope{&*variables, {{"i", 5}}};
  const auto result = substitute(*tree, scope);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->find("a")->text, "h5");
  EXPECT_EQ(result->find("b")->items.size(), 2U);
  EXPECT_EQ(result->find("c")->items[0].text, "4");
  EXPECT_EQ(result->find("d")->text, "${n}");
}

// Names do not hide each other.
TEST(Substitute, TheInnermostIndexCounts) {
  const auto variables = make("n: 3\n");
  const auto tree = parse_yaml("${i}.${j}.${n}", "t.yaml");
  EXPECT_EQ(substitute(*tree, {&*variables, {{"i", 1}, {"j", 2}}})->text, "1.2.3");
  EXPECT_EQ(substitute(*tree, {&*variables, {{"i", 1}}}).error().message,
            "t.yaml:1: There is no variable 'j'.");
}

}  // namespace
}  // namespace quern::manifest
