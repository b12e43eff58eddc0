// Tests of steps, lifetimes and sharing of memory.
#include "backends/cpu/plan.h"

#include <gtest/gtest.h>

#include "quern/graph_builder.h"

namespace quern::cpu {
namespace {

const TensorType kRows{DType::kF32, {Dim::symbolic('T'), Dim::constant(8)}};

Graph finish(GraphBuilder& builder) {
  auto graph = builder.finish();
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return graph ? std::move(*graph) : Graph();
}

Plan plan_of(const Graph& graph, std::vector<std::string> readable = {}) {
  auto plan = make_plan(graph, {.readable = std::move(readable)});
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan();
}

// By address: two values share memory where they have one storage.
const Storage& storage_of(const Plan& plan, ValueId value) {
  return plan.memory
      .storages[static_cast<size_t>(plan.memory.value_storage[static_cast<size_t>(value)])];
}

TEST(Plan, AGraphThatReturnsItsInputHasNoSteps) {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", kRows);
  b.output("y", x);
  const Graph graph = finish(b);
  const Plan plan = plan_of(graph);
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_EQ(storage_of(plan, x).home, Home::kInput);
  ASSERT_EQ(plan.memory.results.size(), 1u);
  EXPECT_EQ(plan.memory.results[0].name, "y");
}

// The norm of x is dead; the layer norm is the result.
TEST(Plan, NodesWhoseResultsNobodyReadsDoNotRun) {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", kRows);
  b.add("math.rmsnorm", {x});
  const ValueId y = b.add("math.layernorm", {x});
  b.output("y", y);
  const Graph graph = finish(b);
  const Plan plan = plan_of(graph);
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].entry->id, "math.layernorm");
}

// y, its view and z: two steps, one storage, which is the result's.
TEST(Plan, AReshapeSharesMemoryAndNeedsNoStep) {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", kRows);
  const ValueId y = b.add("math.rmsnorm", {x});
  const ValueId heads = b.add("shape.reshape", {y}, {{"shape", std::vector<int64_t>{-1, 2, 4}}});
  const ValueId z = b.add("math.rmsnorm", {heads});
  b.output("z", z);
  const Graph graph = finish(b);
  const Plan plan = plan_of(graph);
  EXPECT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(&storage_of(plan, heads), &storage_of(plan, y));
  // The second norm may overwrite what only it reads, and that becomes the result.
  EXPECT_EQ(&storage_of(plan, z), &storage_of(plan, heads));
  EXPECT_EQ(storage_of(plan, z).home, Home::kResult);
}

// y is read by the concat in step 2, so that the norm in step 1 must not write over it.
TEST(Plan, AValueThatIsReadLaterIsNotOverwritten) {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", kRows);
  const ValueId y = b.add("math.rmsnorm", {x});
  const ValueId first = b.add("math.rmsnorm", {y});
  const ValueId both = b.add("shape.concat", {y, first}, {{"dim", int64_t{0}}});
  b.output("both", both);
  const Graph graph = finish(b);
  const Plan plan = plan_of(graph);
  EXPECT_NE(&storage_of(plan, first), &storage_of(plan, y));
  EXPECT_EQ(storage_of(plan, y).last, 2);
}

// A readable value is a result of its own, whatever reads it later.
TEST(Plan, InputsWeightsAndReadableValuesAreNotOverwritten) {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", kRows);
  const ValueId y = b.add("math.rmsnorm", {x}, {}, "y");
  const ValueId z = b.add("math.rmsnorm", {y}, {}, "z");
  b.output("z", z);
  const Graph graph = finish(b);
  const Plan plan = plan_of(graph, {"y"});
  EXPECT_EQ(storage_of(plan, x).home, Home::kInput);
  EXPECT_EQ(storage_of(plan, y).home, Home::kResult);
  EXPECT_NE(&storage_of(plan, y), &storage_of(plan, z));
  ASSERT_EQ(plan.memory.results.size(), 2u);
  EXPECT_EQ(plan.memory.results[1].name, "y");
}

TEST(Plan, AnUnknownReadableNameIsAnError) {
  GraphBuilder b(builtin_ops());
  b.output("y", b.input("x", kRows));
  const Graph graph = finish(b);
  const auto plan = make_plan(graph, {.readable = {"nothing"}});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace quern::cpu
