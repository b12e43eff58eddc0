// Tests of the registry of operations.
#include "quern/op.h"

#include <gtest/gtest.h>

#include <set>

#include "support/ir_test_ops.h"

namespace quern {
namespace {

// Exact ids.
TEST(OpRegistry, FindsByIdAndListsInOrder) {
  const OpRegistry registry = test::ir_test_registry();
  EXPECT_EQ(registry.find("test.scale")->id, "test.scale");
  EXPECT_EQ(registry.find("test.none"), nullptr);
  EXPECT_EQ(registry.find(""), nullptr);
  std::string last;
  for (const OpDef* op : registry.list()) {
    EXPECT_LT(last, op->id);
    EXPECT_EQ(registry.find(op->id), op);
    last = op->id;
  }
}

// Two meanings of one id.
TEST(OpRegistryDeathTest, ASecondDefinitionIsADefect) {
  OpRegistry registry;
  registry.add({.id = "test.a"});
  EXPECT_DEATH(registry.add({.id = "test.a"}), "is_new");
}

// By exact name.
TEST(OpDef, FindsItsAttributes) {
  const OpRegistry registry = test::ir_test_registry();
  const OpDef& op = *registry.find("test.scale");
  EXPECT_EQ(op.find_attribute("mode")->choices, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(op.find_attribute("x"), nullptr);
}

// They stand in documents.
TEST(Effect, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const Effect effect : {Effect::kPure, Effect::kRandom, Effect::kStateRead,
                              Effect::kStateWrite, Effect::kCheckpoint, Effect::kExternal}) {
    EXPECT_NE(effect_name(effect), "unknown");
    EXPECT_TRUE(names.insert(effect_name(effect)).second);
  }
  EXPECT_EQ(effect_name(static_cast<Effect>(42)), "unknown");
}

}  // namespace
}  // namespace quern
