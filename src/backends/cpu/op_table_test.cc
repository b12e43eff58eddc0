// Tests of the list of operations: sorted, complete, and every entry consistent with its operation.
#include "backends/cpu/op_table.h"

#include <gtest/gtest.h>

#include "quern/op.h"

namespace quern::cpu {
namespace {

// find_entry() is a binary search.
TEST(OpTable, IsSortedWithoutRepetition) {
  const auto table = op_table();
  for (size_t i = 1; i < table.size(); ++i) EXPECT_LT(table[i - 1].id, table[i].id);
}

TEST(OpTable, EveryEntryIsAnOperation) {
  for (const OpEntry& entry : op_table()) {
    const OpDef* op = builtin_ops().find(entry.id);
    ASSERT_NE(op, nullptr) << entry.id;
    EXPECT_TRUE(op->alias_of.empty()) << entry.id;
    EXPECT_EQ(find_entry(*op), &entry);
    // -1, for none, is below every count.
    for (const int port : {entry.packed_weight, entry.packed_input, entry.packed_scale}) {
      EXPECT_LT(port, static_cast<int>(op->inputs.size())) << entry.id;
    }
  }
}

// Views and graph-only entries run nothing, so that a step for them would be dead code.
TEST(OpTable, EntriesSayHowTheyRun) {
  for (const OpEntry& entry : op_table()) {
    EXPECT_NE(entry.kind, Support::Kind::kMissing) << entry.id;
    const bool needs_step = entry.kind != Support::Kind::kGraphOnly && !entry.is_view;
    EXPECT_EQ(entry.make != nullptr, needs_step) << entry.id;
  }
}

TEST(OpTable, AliasesAreServedAsWhatTheyStandFor) {
  int aliases = 0;
  for (const OpDef* op : builtin_ops().list()) {
    if (op->alias_of.empty()) continue;
    ++aliases;
    const OpDef* target = builtin_ops().find(op->alias_of);
    ASSERT_NE(target, nullptr) << op->id;
    EXPECT_EQ(find_entry(*op), find_entry(*target)) << op->id;
  }
  EXPECT_GT(aliases, 0);
}

TEST(OpTable, UnknownOperationsHaveNoEntry) {
  const OpDef op{.id = "test.unknown"};
  EXPECT_EQ(find_entry(op), nullptr);
}

}  // namespace
}  // namespace quern::cpu
