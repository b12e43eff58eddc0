#include "formats/manifest/yaml_tree.h"

#include <gtest/gtest.h>

#include <string>

namespace quern::manifest {
namespace {

// Why the text is refused.
std::string error_of(std::string_view text) {
  const auto tree = parse_yaml(text, "m.yaml");
  return tree ? "no error" : tree.error().message;
}

// Through lists, maps and folded texts.
TEST(YamlTree, ValuesKeepTheirLines) {
  const auto tree = parse_yaml("a: 1\nb:\n  - x\n  - {c: 'two words'}\nd:\n", "m.yaml");
  ASSERT_TRUE(tree) << tree.error().message;
  ASSERT_TRUE(tree->is_map());
  EXPECT_EQ(tree->find("a")->text, "1");
  EXPECT_EQ(tree->find("a")->place.to_string(), "m.yaml:1");
  const YamlNode& list = *tree->find("b");
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[0].place.to_string(), "m.yaml:3");
  const YamlNode* quoted = list.items[1].find("c");
  EXPECT_EQ(quoted->text, "two words");
  EXPECT_TRUE(quoted->is_quoted);
  EXPECT_FALSE(tree->find("a")->is_quoted);
  EXPECT_TRUE(tree->find("d")->is_null());
  EXPECT_EQ(tree->find("none"), nullptr);
  // The map, its three keys and three values, and within the list x, a map, a key and a text.
  EXPECT_EQ(count_values(*tree), 11);
}

// Not an error: an empty file declares nothing.
TEST(YamlTree, EmptyTextIsNull) {
  EXPECT_TRUE(parse_yaml("", "m.yaml")->is_null());
  EXPECT_TRUE(parse_yaml("# only a comment\n", "m.yaml")->is_null());
}

// With the place of the original.
TEST(YamlTree, AliasesAreCopies) {
  const auto tree = parse_yaml("a: &x [1, 2]\nb: *x\n", "m.yaml");
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(tree->find("b")->items.size(), 2U);
  EXPECT_EQ(tree->find("b")->place.line, 2);
  // The alias has the place of its use, what is inside keeps that of the anchor.
  EXPECT_EQ(tree->find("b")->items[1].place.line, 1);
}

// And left to whoever knows the folder.
TEST(YamlTree, IncludesAreMarked) {
  const auto tree = parse_yaml("a: !include x.yaml\n", "m.yaml");
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_TRUE(tree->find("a")->is_include);
  EXPECT_EQ(tree->find("a")->text, "x.yaml");
}

// Also those of the library beneath.
TEST(YamlTree, ErrorsNameFileAndLine) {
  EXPECT_EQ(error_of("a: 1\na: 2\n"), "m.yaml:2: The key 'a' is there twice.");
  EXPECT_EQ(error_of("a: 1\n[b]: 2\n"), "m.yaml:2: A key is a list; keys are text.");
  EXPECT_EQ(error_of("a:\n  - !!python/object 2\n").substr(0, 35),
            "m.yaml:2: The tag 'tag:yaml.org,200");
  EXPECT_EQ(error_of("a: [1, 2\nb: 3\n").substr(0, 9), "m.yaml:2:");
  EXPECT_EQ(error_of("a: *nothing\n").substr(0, 9), "m.yaml:1:");
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"), "m.yaml: The file holds more than one document.");
  EXPECT_EQ(error_of("a: &x [*x]\n").substr(0, 9), "m.yaml:1:");
}

// Before the stack is.
TEST(YamlTree, DeepNestingIsRefused) {
  std::string at_limit(64, '[');
  at_limit += std::string(64, ']');
  EXPECT_EQ(error_of(at_limit), "no error");
  EXPECT_EQ(error_of("[" + at_limit + "]"), "m.yaml:1: Values are nested more than 64 deep.");
  EXPECT_NE(error_of(std::string(100'000, '[')), "no error");
  EXPECT_NE(error_of(std::string(100'000, '{')), "no error");
  std::string keys;
  // A key that is a map whose key is a map, and so on: nesting without a bracket.
  for (int i = 0; i < 2000; ++i) keys += "? ";
  EXPECT_NE(error_of(keys), "no error");
}

// Nine levels of nine aliases each would be 387 million values.
TEST(YamlTree, AliasBombsAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 9; ++level) {
    text += fmt::format("a{}: &a{} [", level, level);
    for (int i = 0; i < 9; ++i) text += fmt::format("{}*a{}", i == 0 ? "" : ", ", level - 1);
    text += "]\n";
  }
  EXPECT_EQ(error_of(text).substr(8),
            ": The file holds more than 500000 values, counting those that "
            "anchors and aliases repeat.");
}

// Anchors inside anchors would copy the innermost value once for each.
TEST(YamlTree, NestedAnchorsCountTheirCopies) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += fmt::format("&a{} [", i);
  // 50 anchors around 20,000 values: keeping a copy for each would be a million.
  for (int i = 0; i < 20'000; ++i) text += "1,";
  text += std::string(50, ']');
  EXPECT_NE(error_of(text).find("more than 500000 values"), std::string::npos);
}

// Each alias may add a level.
TEST(YamlTree, AliasesDoNotPassTheDepth) {
  std::string text = "a: &a " + std::string(40, '[') + std::string(40, ']') + "\nb: ";
  text += std::string(40, '[') + "*a" + std::string(40, ']') + "\n";
  EXPECT_EQ(error_of(text), "m.yaml:2: Values are nested more than 64 deep.");
}

// By their size, before the library sees them.
TEST(YamlTree, LargeFilesAreRefused) {
  const std::string text(kMaxYamlBytes + 1, ' ');
  EXPECT_EQ(error_of(text), "m.yaml: The file has 16777217 bytes; the limit is 16777216.");
}

}  // namespace
}  // namespace quern::manifest
