// Plans of random graphs, run symbolically: every byte remembers the value that wrote it last, and
// no step may read a byte that another value has overwritten.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "passes/arena_layout.h"
#include "passes/memory_plan.h"
#include "quern/graph_builder.h"
#include "quern/op.h"
#include "support/memory_rules.h"

namespace quern {
namespace {

int64_t packed_bytes(const Node&, std::span<const Shape> outputs) {
  return outputs[0].num_elements() + 3;
}

// A graph of `size` nodes over f32[T, 32]: chains, joins, views, quantised products, several
// outputs, and nodes that nobody needs.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed), builder_(builtin_ops()) {}

  Result<Graph> make(int size) {
    for (const char* name : {"x", "y"}) pool_.push_back(builder_.input(name, type()));
    weight_ = builder_.weight("w", {DType::kQ8_0, {Dim::constant(32), Dim::constant(32)}});
    for (int i = 0; i < size; ++i) add_node();
    const int outputs = 1 + below(3);
    for (int i = 0; i < outputs; ++i) {
      builder_.output("out" + std::to_string(i), i == 0 ? pool_.back() : any());
    }
    return builder_.finish();
  }

 private:
  static TensorType type() { return {DType::kF32, {Dim::symbolic('T'), Dim::constant(32)}}; }
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  // Later values more often, so that the graphs are deep.
  ValueId any() {
    const int n = static_cast<int>(pool_.size());
    return pool_[static_cast<size_t>(std::max(below(n), below(n)))];
  }
  void add_node() {
    switch (below(8)) {
      case 0:
      case 1:
        pool_.push_back(builder_.add("activation.relu", {any()}));
        break;
      case 2:
        pool_.push_back(builder_.add("math.add", {any(), any()}));
        break;
      case 3:
        pool_.push_back(builder_.add("elementwise.axpy", {any(), any()}, {{"alpha", 2.0}}));
        break;
      case 4:
        pool_.push_back(builder_.add("math.rmsnorm", {any()}));
        break;
      case 5:
        pool_.push_back(
            builder_.add("shape.reshape", {any()}, {{"shape", std::vector<int64_t>{-1, 32}}}));
        break;
      case 6:
        add_projection();
        break;
      default:
        pool_.push_back(builder_.add("math.softmax", {any()}));
    }
  }
  void add_projection() {
    builder_.add("quant.dynamic", {any()}, {{"bits", int64_t{8}}});
    const ValueId q = builder_.last_outputs()[0], d = builder_.last_outputs()[1];
    pool_.push_back(builder_.add("projection.linear", {q, weight_, kNoValue, d}));
    if (below(2) == 0)
      pool_.push_back(builder_.add("projection.linear", {q, weight_, kNoValue, d}));
  }

  std::mt19937 random_;
  GraphBuilder builder_;
  ValueId weight_ = kNoValue;
  std::vector<ValueId> pool_;
};

// Memory in which every byte names its writer.
class Machine {
 public:
  Machine(const Graph& graph, const MemoryRules& rules, const MemoryPlan& plan,
          const PlanSizes& sizes)
      : graph_(graph), rules_(rules), plan_(plan), sizes_(sizes) {
    arena_.assign(static_cast<size_t>(sizes.arena_bytes), -1);
    results_.resize(plan.result_storages.size());
    for (size_t i = 0; i < results_.size(); ++i) {
      results_[i].assign(bytes_of(plan.result_storages[i]), -1);
    }
    for (size_t i = 0; i < graph.values().size(); ++i) roots_.push_back(static_cast<ValueId>(i));
  }

  void run() {
    for (size_t i = 0, step = 0; i < graph_.nodes().size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      const Node& node = graph_.nodes()[i];
      if (rules_.of_node(graph_, id).kind == NodeMemory::Kind::kView) {
        roots_[static_cast<size_t>(node.outputs[0])] = root(node.inputs[0]);
      }
      if (step == plan_.steps.size() || plan_.steps[step].node != id) continue;
      run_step(plan_.steps[step++]);
      ++steps_run_;
    }
    EXPECT_EQ(steps_run_, plan_.steps.size());
    for (const PlannedResult& result : plan_.results) expect_holds(result.value, "the result");
  }

 private:
  static constexpr int kPackedForm = 1 << 20;  // added to the id of the node's first value

  ValueId root(ValueId value) const { return roots_[static_cast<size_t>(value)]; }
  size_t bytes_of(int32_t storage) const {
    return static_cast<size_t>(sizes_.storage_bytes[static_cast<size_t>(storage)]);
  }
  // The bytes of a storage; nothing for those that a run only reads.
  std::span<int> memory(int32_t id) {
    const Storage& storage = plan_.storages[static_cast<size_t>(id)];
    if (storage.home == Home::kArena) {
      return std::span(arena_).subspan(static_cast<size_t>(sizes_.offsets[static_cast<size_t>(id)]),
                                       bytes_of(id));
    }
    if (storage.home == Home::kResult) return results_[static_cast<size_t>(storage.index)];
    return {};
  }
  int32_t storage_of(ValueId value) const {
    return plan_.value_storage[static_cast<size_t>(value)];
  }

  void expect_holds(ValueId value, std::string_view reader) {
    const int32_t storage = storage_of(value);
    ASSERT_NE(storage, kNoStorage) << graph_.value(value).name << " for " << reader;
    for (const int writer : memory(storage)) {
      ASSERT_EQ(writer, root(value)) << graph_.value(value).name << " for " << reader;
    }
  }
  void run_step(const MemoryStep& step) {
    const Node& node = graph_.node(step.node);
    const NodeMemory rules = rules_.of_node(graph_, step.node);
    if (step.packed_input != kNoStorage) {
      const NodeId maker = graph_.value(node.inputs[0]).producer;
      for (const int writer : memory(step.packed_input)) {
        ASSERT_EQ(writer, kPackedForm + graph_.node(maker).outputs[0]) << node.name;
      }
    }
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const auto lists = [&](const std::vector<int>& ports) {
        return std::ranges::find(ports, static_cast<int>(port)) != ports.end();
      };
      if (node.inputs[port] == kNoValue || lists(rules.loaded_ports)) continue;
      if (step.packed_input != kNoStorage && lists(rules.packed_ports)) continue;
      expect_holds(node.inputs[port], node.name);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) write(node, i);
    if (step.packed_output != kNoStorage) {
      std::ranges::fill(memory(step.packed_output), kPackedForm + node.outputs[0]);
    }
  }
  // Outputs must not lie on inputs, but for output 0 on the one that the operation names.
  void write(const Node& node, size_t output) {
    const int32_t target = storage_of(node.outputs[output]);
    if (target == kNoStorage) return;
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      if (node.inputs[port] == kNoValue) continue;
      const int32_t source = storage_of(node.inputs[port]);
      if (source == kNoStorage) continue;
      const bool may_share = output == 0 && node.op->in_place_input == static_cast<int>(port);
      if (!may_share) {
        ASSERT_FALSE(overlap(memory(source), memory(target)))
            << node.name << " writes over its input " << port;
      }
    }
    std::ranges::fill(memory(target), node.outputs[output]);
  }
  static bool overlap(std::span<const int> a, std::span<const int> b) {
    return !a.empty() && !b.empty() && a.data() < b.data() + b.size() &&
           b.data() < a.data() + a.size();
  }

  const Graph& graph_;
  const MemoryRules& rules_;
  const MemoryPlan& plan_;
  const PlanSizes& sizes_;
  std::vector<int> arena_;
  std::vector<std::vector<int>> results_;
  std::vector<ValueId> roots_;
  size_t steps_run_ = 0;
};

// Bytes of the arena's storages, each rounded up as the layout does.
int64_t rounded_sum(const MemoryPlan& plan, const PlanSizes& sizes) {
  int64_t sum = 0;
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    if (plan.storages[i].home != Home::kArena) continue;
    const int64_t units = (sizes.storage_bytes[i] + kArenaAlignment - 1) / kArenaAlignment;
    sum += std::max<int64_t>(units, 1) * kArenaAlignment;
  }
  return sum;
}

struct Case {
  const char* name;
  MemoryRules rules;
};

class PlansOfRandomGraphs : public testing::TestWithParam<Case> {};

// Empty, one and several tokens; views, packed forms, in-place results.
TEST_P(PlansOfRandomGraphs, NeverLoseAValue) {
  const MemoryRules& rules = GetParam().rules;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const auto graph = RandomGraph(seed).make(2 + static_cast<int>(seed) / 3);
    ASSERT_TRUE(graph) << graph.error().message;
    const auto plan = plan_memory(*graph, {}, rules);
    ASSERT_TRUE(plan) << plan.error().message;
    for (const int64_t tokens : {0, 1, 5}) {
      SymbolValues symbols;
      symbols.set('T', tokens);
      const auto shapes = resolve_shapes(*graph, symbols);
      ASSERT_TRUE(shapes);
      const auto sizes = size_plan(*graph, *plan, *shapes);
      ASSERT_TRUE(sizes) << sizes.error().message;
      Machine(*graph, rules, *plan, *sizes).run();
      if (testing::Test::HasFatalFailure()) return;
      EXPECT_LE(sizes->high_water_bytes, sizes->arena_bytes);
      EXPECT_LE(sizes->arena_bytes, rounded_sum(*plan, *sizes));
    }
  }
}

// Plans are compared across machines.
TEST_P(PlansOfRandomGraphs, AreTheSameEveryTime) {
  const MemoryRules& rules = GetParam().rules;
  for (unsigned seed = 200; seed < 220; ++seed) {
    const auto graph = RandomGraph(seed).make(30);
    ASSERT_TRUE(graph);
    const auto first = plan_memory(*graph, {}, rules), second = plan_memory(*graph, {}, rules);
    EXPECT_EQ(first->value_storage, second->value_storage);
    SymbolValues symbols;
    symbols.set('T', 7);
    const auto shapes = resolve_shapes(*graph, symbols);
    EXPECT_EQ(size_plan(*graph, *first, *shapes)->offsets,
              size_plan(*graph, *second, *shapes)->offsets);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, PlansOfRandomGraphs,
    testing::Values(
        Case{"views", {.of_node = test::viewing_rules, .packed_bytes = nullptr}},
        Case{"packs", {.of_node = test::packing_rules, .packed_bytes = packed_bytes}},
        Case{"reuses_nothing",
             {.of_node = test::packing_rules, .packed_bytes = packed_bytes, .reuses = false}}),
    [](const auto& info) { return info.param.name; });

// Reuse is worth its trouble: deep graphs need a small part of what their values take together.
TEST(MemoryPlans, ReuseSavesMostOfADeepGraph) {
  GraphBuilder builder(builtin_ops());
  ValueId x = builder.input("x", {DType::kF32, {Dim::constant(8), Dim::constant(8)}});
  for (int i = 0; i < 50; ++i) {
    x = builder.add("shape.transpose", {x}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
  }
  builder.output("z", x);
  const auto graph = builder.finish();
  ASSERT_TRUE(graph);
  const auto plan =
      plan_memory(*graph, {}, {.of_node = test::viewing_rules, .packed_bytes = nullptr});
  const auto sizes = size_plan(*graph, *plan, *resolve_shapes(*graph, {}));
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->arena_bytes, 2 * 8 * 8 * 4);
  EXPECT_EQ(sizes->unplanned_bytes, 49 * 8 * 8 * 4);  // the last one is a result
}

// Values that are read by name live in results of their own, under that name, after the outputs.
TEST(MemoryPlans, ReadableValuesAreResults) {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", {DType::kF32, {Dim::constant(4)}});
  const ValueId a = builder.add("activation.relu", {x}, {}, "a");
  const ValueId b = builder.add("elementwise.neg", {a}, {}, "b");
  builder.output("z", b);
  const auto graph = builder.finish();
  ASSERT_TRUE(graph);
  const auto plan =
      plan_memory(*graph, {"a"}, {.of_node = test::viewing_rules, .packed_bytes = nullptr});
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->results.size(), 2u);
  EXPECT_EQ(plan->results[0].name, "z");
  EXPECT_EQ(plan->results[1].name, "a");
  EXPECT_EQ(plan->result_storages.size(), 2u);  // neg could not overwrite a
  EXPECT_NE(plan->value_storage[static_cast<size_t>(a)],
            plan->value_storage[static_cast<size_t>(b)]);
}

// An input of the graph that is also its output is no step, and the plan still names it.
TEST(MemoryPlans, AnInputCanBeAResult) {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", {DType::kF32, {Dim::constant(4)}});
  builder.output("z", x);
  const auto graph = builder.finish();
  ASSERT_TRUE(graph);
  const auto plan =
      plan_memory(*graph, {}, {.of_node = test::viewing_rules, .packed_bytes = nullptr});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->steps.empty());
  const int32_t storage = plan->value_storage[static_cast<size_t>(x)];
  ASSERT_NE(storage, kNoStorage);
  EXPECT_EQ(plan->storages[static_cast<size_t>(storage)].home, Home::kInput);
}

}  // namespace
}  // namespace quern
