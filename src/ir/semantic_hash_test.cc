// Tests of the semantic hash: blind to inner names, sensitive to everything that has a meaning.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "quern/graph.h"
#include "support/ir_test_ops.h"

namespace quern {
namespace {

// The hash of kText below.
constexpr uint64_t kFrozen = 990'810'586'424'685'409U;

constexpr std::string_view kText = R"(graph {
  state @kv : kv {heads = 3, scale = 0.1}
  %x = Input() {type = "f32[T, 64]"}
  %z = Input() {type = "f32[T, 64]"}
  %y = test.scale(%x) {factor = 0.5}
  %s = test.split(%y)
  %p = test.pick(%s:low, _, %x)
  %w = test.store(%s:high)
  output out = %p
  output more = %s:low
}
)";

class SemanticHash : public testing::Test {
 protected:
  uint64_t hash(std::string_view text) const {
    const auto graph = parse_graph(text, registry_);
    EXPECT_TRUE(graph) << graph.error().message << "\n" << text;
    return graph ? semantic_hash(*graph) : 0;
  }
  // The hash of kText with every `from` replaced.
  uint64_t hash_with(std::string_view from, std::string_view to) const {
    std::string text(kText);
    EXPECT_NE(text.find(from), std::string::npos) << from;
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
    return hash(text);
  }
  const OpRegistry registry_ = test::ir_test_registry();
};

// Renaming is no change.
TEST_F(SemanticHash, InnerNamesDoNotCount) {
  const uint64_t before = hash(kText);
  EXPECT_EQ(hash_with("%y", "%other"), before);
  EXPECT_EQ(hash_with("%s", "%t"), before);
  EXPECT_EQ(hash_with("%w", "%blk.3/store"), before);
}

// Nodes hold them anyway.
TEST_F(SemanticHash, DefaultsCountAsWritten) {
  EXPECT_EQ(hash_with("{factor = 0.5}", "{factor = 0.5, mode = \"a\"}"), hash(kText));
}

// One change at a time.
TEST_F(SemanticHash, EveryMeaningCounts) {
  std::set<uint64_t> hashes = {hash(kText)};
  // All hashes are kept in one set: a change must differ from the original and from every other
  // change, or two of them would have cancelled.
  const auto expect_new = [&](uint64_t value, std::string_view what) {
    EXPECT_TRUE(hashes.insert(value).second) << what;
  };
  expect_new(hash_with("%x", "%in"), "input name");
  expect_new(hash_with("output out", "output result"), "output name");
  expect_new(hash_with("@kv : kv", "@kv : other"), "kind of state");
  expect_new(hash_with("heads = 3", "heads = 4"), "attribute of state");
  expect_new(hash_with("heads = 3, ", ""), "fewer attributes of state");
  expect_new(hash_with("factor = 0.5", "factor = 0.50000000000000011"), "last bit of a number");
  expect_new(hash_with("factor = 0.5", "factor = 0.5, mode = \"b\""), "choice");
  expect_new(hash_with("T, 64", "T, 32"), "extent");
  expect_new(hash_with("T, 64", "S, 64"), "symbol");
  expect_new(hash_with("f32[", "f16["), "dtype");
  expect_new(hash_with("pick(%s:low, _, %x)", "pick(%s:high, _, %x)"), "edge");
  expect_new(hash_with("pick(%s:low, _, %x)", "pick(%s:low, %x)"), "port of an optional input");
  expect_new(hash_with("pick(%s:low, _, %x)", "pick(%s:low)"), "absent input");
  expect_new(hash_with("test.scale",
                       "test.random"
                       "(%x)\n  %y2 = test.scale"),
             "another node");
  expect_new(hash_with("more = %s:low", "more = %s:high"), "what an output is");
  expect_new(hash_with("  output more = %s:low\n", ""), "number of outputs");
}

// 1, 1.0 and "1".
TEST_F(SemanticHash, KindsOfEqualTextDiffer) {
  const auto of = [this](std::string_view value) {
    return hash("graph {\n  state @s : k {v = " + std::string(value) + "}\n}\n");
  };
  std::set<uint64_t> hashes;
  for (const auto* value : {"1", "1.0", "\"1\"", "[1]", "f[1.0]", "true", "\"true\"", "[]", "f[]",
                            "\"\"", "0.0", "-0.0", "nan", "inf"}) {
    EXPECT_TRUE(hashes.insert(of(value)).second) << value;
  }
}

// A new meaning under an old id.
TEST_F(SemanticHash, TheVersionOfAnOperationCounts) {
  const auto with_version = [](int version) {
    OpRegistry registry = test::ir_test_registry();
    OpDef op = *registry.find("test.scale");
    op.id = "test.versioned";
    op.version = version;
    registry.add(op);
    const auto graph = parse_graph(
        "graph {\n  %x = Input() {type = \"f32[2]\"}\n  %y = test.versioned(%x)\n}\n", registry);
    return semantic_hash(*graph);
  };
  EXPECT_NE(with_version(1), with_version(2));
  EXPECT_EQ(with_version(2), with_version(2));
}

// Lists of different kinds must not run into each other.
TEST_F(SemanticHash, EmptyGraphsDifferByWhatTheyDeclare) {
  std::set<uint64_t> hashes;
  // "a" + "bc" and "ab" + "c" join to the same bytes: lengths must be hashed with texts.
  for (const auto* body : {"", "state @a : b\n", "state @ab : c\n", "state @a : bc\n",
                           "state @a : b\nstate @c : d\n"}) {
    EXPECT_TRUE(hashes.insert(hash("graph {\n" + std::string(body) + "}\n")).second) << body;
  }
}

// A key of caches on disk: the same in every build and on every machine. Raise an operation's
// version instead of changing what is hashed.
TEST_F(SemanticHash, IsFrozen) {
  EXPECT_EQ(hash(kText), kFrozen);
}

}  // namespace
}  // namespace quern
