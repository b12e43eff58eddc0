// Plans and their sizes, with rules of a backend that is made up.
#include "passes/memory_plan.h"

#include <gtest/gtest.h>

#include "quern/graph_builder.h"
#include "quern/op.h"
#include "support/memory_rules.h"

namespace quern {
namespace {

using test::packing_rules;
using test::viewing_rules;

// Of quant.dynamic.
int64_t packed_bytes(const Node&, std::span<const Shape>) {
  return 1000;
}

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text, builtin_ops());
  EXPECT_TRUE(graph.has_value()) << (graph ? "" : graph.error().message);
  return graph ? std::move(*graph) : Graph();
}

struct Planned {
  Graph graph;
  MemoryPlan plan;
  PlanSizes sizes;

  Planned(std::string_view text, const MemoryRules& rules, int64_t tokens = 16)
      : graph(graph_of(text)) {
    auto made = plan_memory(graph, {}, rules);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    plan = std::move(*made);
    SymbolValues symbols;
    symbols.set('T', tokens);
    sizes = *size_plan(graph, plan, *resolve_shapes(graph, symbols));
  }
  const Storage* storage(std::string_view value) const {
    const int32_t id = plan.value_storage[static_cast<size_t>(graph.find_value(value))];
    return id == kNoStorage ? nullptr : &plan.storages[static_cast<size_t>(id)];
  }
};

constexpr std::string_view kChain = R"(graph {
  %x = Input() {type = "f32[T, 16]"}
  %a = math.softmax(%x)
  %b = shape.transpose(%a) {dim0 = 0, dim1 = 1}
  %c = shape.transpose(%b) {dim0 = 0, dim1 = 1}
  %d = shape.transpose(%c) {dim0 = 0, dim1 = 1}
  %z = reduction.sum(%d)
  output z = %z
}
)";

// The one read and the one written.
TEST(MemoryPlan, AChainNeedsTheRoomOfTwoValues) {
  const Planned p(kChain, {.of_node = viewing_rules});
  EXPECT_EQ(p.sizes.arena_bytes, 2 * 16 * 16 * 4);
  EXPECT_EQ(p.sizes.high_water_bytes, p.sizes.arena_bytes);
  EXPECT_EQ(p.sizes.unplanned_bytes, 4 * 16 * 16 * 4);
  EXPECT_EQ(p.storage("z")->home, Home::kResult);
  EXPECT_EQ(p.storage("x")->home, Home::kInput);
}

// For debugging.
TEST(MemoryPlan, WithoutReuseEveryValueHasItsOwn) {
  const Planned p(kChain, {.of_node = viewing_rules, .packed_bytes = nullptr, .reuses = false});
  EXPECT_EQ(p.sizes.arena_bytes, p.sizes.unplanned_bytes);
  EXPECT_EQ(p.sizes.high_water_bytes, p.sizes.unplanned_bytes);
}

// Every pair of storages.
TEST(MemoryPlan, OffsetsOfValuesThatLiveTogetherDoNotMeet) {
  const Planned p(R"(graph {
  %x = Input() {type = "f32[T, 16]"}
  %a = math.softmax(%x)
  %b = math.layernorm(%x)
  %c = math.rmsnorm(%x)
  %d = shape.concat(%a, %b, %c) {dim = 0}
  %z = reduction.sum(%d)
  output z = %z
}
)",
                  {.of_node = viewing_rules});
  for (size_t i = 0; i < p.plan.storages.size(); ++i) {
    for (size_t j = i + 1; j < p.plan.storages.size(); ++j) {
      const Storage &a = p.plan.storages[i], &b = p.plan.storages[j];
      if (a.home != Home::kArena || b.home != Home::kArena) continue;
      if (a.last < b.first || b.last < a.first) continue;
      const int64_t end_a = p.sizes.offsets[i] + p.sizes.storage_bytes[i];
      const int64_t end_b = p.sizes.offsets[j] + p.sizes.storage_bytes[j];
      EXPECT_TRUE(end_a <= p.sizes.offsets[j] || end_b <= p.sizes.offsets[i]);
    }
  }
  EXPECT_EQ(p.graph.node(p.plan.steps[static_cast<size_t>(p.sizes.high_water_step)].node).name,
            "d");
}

// Elementwise chains need no more.
TEST(MemoryPlan, InPlaceChainsShareOneStorage) {
  const Planned p(R"(graph {
  %x = Input() {type = "f32[T, 16]"}
  %a = math.rmsnorm(%x)
  %b = math.exp(%a)
  %c = math.softmax(%b)
  %z = reduction.sum(%c)
  output z = %z
}
)",
                  {.of_node = viewing_rules});
  EXPECT_EQ(p.storage("a"), p.storage("c"));
  EXPECT_EQ(p.sizes.arena_bytes, 16 * 16 * 4);
  EXPECT_EQ(p.sizes.unplanned_bytes, 3 * 16 * 16 * 4);
}

// It is the caller's.
TEST(MemoryPlan, AnInputIsNeverWrittenInPlace) {
  const Planned p(R"(graph {
  %x = Input() {type = "f32[T, 16]"}
  %a = math.exp(%x)
  %z = reduction.sum(%a)
  output z = %z
}
)",
                  {.of_node = viewing_rules});
  EXPECT_EQ(p.storage("x")->home, Home::kInput);
  EXPECT_EQ(p.storage("a")->home, Home::kArena);
}

// Reads of a view are reads of its root.
TEST(MemoryPlan, ViewsKeepWhatTheyViewAlive) {
  const Planned p(R"(graph {
  %x = Input() {type = "f32[T, 16]"}
  %a = math.softmax(%x)
  %v = shape.reshape(%a) {shape = [-1, 4]}
  %b = math.layernorm(%x)
  %y = reduction.sum(%b)
  %z = reduction.sum(%v)
  output y = %y
  output z = %z
}
)",
                  {.of_node = viewing_rules});
  EXPECT_EQ(p.storage("v"), p.storage("a"));
  EXPECT_EQ(p.storage("a")->last, 3);
  EXPECT_EQ(p.sizes.arena_bytes, 2 * 16 * 16 * 4);
}

constexpr std::string_view kPacked = R"(graph {
  %x = Input() {type = "f32[T, 32]"}
  %w = graph.weight() {type = "q8_0[4, 32]", weight = "w"}
  %q = quant.dynamic(%x)
  %y = projection.linear(%q:q, %w, _, %q:d)
  output y = %y
)";

// Memory that nobody would look at.
TEST(MemoryPlan, ValuesThatAreReadPackedHaveNoPlainForm) {
  const Planned p(std::string(kPacked) + "}\n",
                  {.of_node = packing_rules, .packed_bytes = packed_bytes});
  EXPECT_EQ(p.storage("q:q"), nullptr);
  EXPECT_EQ(p.storage("q:d"), nullptr);
  EXPECT_EQ(p.storage("w"), nullptr);
  EXPECT_EQ(p.sizes.arena_bytes, 1024);  // 1000, in lines of 64
  EXPECT_NE(p.plan.steps[1].packed_input, kNoStorage);
  EXPECT_EQ(p.plan.steps[0].packed_output, p.plan.steps[1].packed_input);
}

// The caller cannot read a packed one.
TEST(MemoryPlan, AnOutputNeedsItsPlainFormToo) {
  const Planned p(std::string(kPacked) + "  output q = %q:q\n}\n",
                  {.of_node = packing_rules, .packed_bytes = packed_bytes});
  ASSERT_NE(p.storage("q:q"), nullptr);
  EXPECT_EQ(p.storage("q:q")->home, Home::kResult);
  EXPECT_EQ(p.storage("q:d"), nullptr);
}

// Symbols may be 0.
TEST(MemoryPlan, EmptyTensorsTakeNoBytes) {
  const Planned p(kChain, {.of_node = viewing_rules}, 0);
  EXPECT_EQ(p.sizes.unplanned_bytes, 0);
  EXPECT_EQ(p.sizes.high_water_bytes, 0);
}

// Before anything is allocated.
TEST(MemoryPlan, SizesPastTheLimitAreAnError) {
  const Graph graph = graph_of(kChain);
  const auto plan = plan_memory(graph, {}, {.of_node = viewing_rules});
  ASSERT_TRUE(plan.has_value());
  SymbolValues symbols;
  symbols.set('T', int64_t{1} << 42);
  const auto shapes = resolve_shapes(graph, symbols);
  ASSERT_TRUE(shapes.has_value());
  const auto sizes = size_plan(graph, *plan, *shapes);
  ASSERT_FALSE(sizes.has_value());
  EXPECT_EQ(sizes.error().code, ErrorCode::kResourceExhausted);
}

// Sizes need values.
TEST(MemoryPlan, AnUnboundSymbolIsAnError) {
  EXPECT_FALSE(resolve_shapes(graph_of(kChain), SymbolValues{}).has_value());
}

// With the name.
TEST(MemoryPlan, AnUnknownReadableNameIsAnError) {
  const auto plan = plan_memory(graph_of(kChain), {"nothing"}, {.of_node = viewing_rules});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace quern
