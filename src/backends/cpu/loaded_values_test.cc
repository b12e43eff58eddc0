// Tensors that steps read in place: large ones stay in the mapped file, small ones are copied out.
#include "backends/cpu/loaded_values.h"

#include <gtest/gtest.h>

#include "quern/graph_builder.h"
#include "support/graph_runner.h"
#include "support/mapped_weights.h"
#include "support/op_values.h"
#include "support/temporary_folder.h"

namespace quern::cpu {
namespace {

constexpr int64_t kRows = 4096, kColumns = 8;

TEST(LoadedValues, SmallWeightsOfAFileAreCopied) {
  std::vector<float> content(kRows * kColumns), gains(kColumns);
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<float>(i);
  for (size_t i = 0; i < gains.size(); ++i) gains[i] = 0.5F * static_cast<float>(i);
  test::MemoryWeights memory;
  memory.add("table", test::f32({kRows, kColumns}, content));
  memory.add("gain", test::f32({kColumns}, gains));
  const test::TemporaryFolder folder("loaded_values");
  const auto weights = test::MappedWeights::make(memory, folder.file("x"));
  ASSERT_TRUE(weights.has_value()) << weights.error().message;
  if (!FileMappings::read().holds((*weights)->file().bytes())) {
    GTEST_SKIP() << "No list of mappings here.";
  }

  GraphBuilder b(builtin_ops());
  const Dim rows = Dim::constant(kRows), columns = Dim::constant(kColumns);
  const ValueId x = b.input("x", {DType::kF32, {rows, columns}});
  const ValueId gain = b.weight("gain", {DType::kF32, {columns}});
  const ValueId table = b.weight("table", {DType::kF32, {rows, columns}});
  b.output("y", b.add("math.add", {b.add("math.rmsnorm", {x, gain}), table}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  const auto plan = make_plan(*graph, {});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const auto loaded = LoadedValues::make(*graph, *plan, weights->get());
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;

  const auto maps = FileMappings::read();
  EXPECT_TRUE(maps.holds(*loaded->kept(table).host_view()));
  EXPECT_FALSE(maps.holds(*loaded->kept(gain).host_view()));
  const auto values = loaded->kept(gain).read_as<float>();
  ASSERT_TRUE(values.has_value());
  EXPECT_EQ(*values, gains);
}

}  // namespace
}  // namespace quern::cpu
