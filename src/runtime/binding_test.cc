// Tests of what a run's arguments must be: symbols from extents, and an error for each thing wrong.
#include "runtime/binding.h"

#include <gtest/gtest.h>

#include "support/ir_test_ops.h"

namespace quern {
namespace {

// A store that no kernel ever asks; only its presence counts here.
class NoStore final : public KvStore {
 public:
  Result<int32_t> create_sequence() override { return 0; }
  Result<void> remove_sequence(int32_t) override { return {}; }
  Result<int32_t> clone_sequence(int32_t) override { return 0; }
  Result<void> swap_sequences(int32_t, int32_t) override { return {}; }
  Result<int64_t> length(int32_t) const override { return 0; }
  Result<void> reserve(int32_t, int64_t) override { return {}; }
  Result<void> commit(int32_t, int64_t) override { return {}; }
  Result<void> truncate(int32_t, int64_t) override { return {}; }
  Result<void> close_gap(int32_t, int64_t, int64_t) override { return {}; }
  int64_t size_bytes() const override { return 0; }
  Result<std::vector<std::byte>> export_rows(int32_t) const override {
    return std::vector<std::byte>();
  }
  Result<int32_t> import_rows(int64_t, std::span<const std::byte>) override { return 0; }
};

// A graph with a symbol, a constant extent and a state.
class BindingTest : public testing::Test {
 protected:
  static Tensor tensor(const Shape& shape, DType dtype = DType::kF32) {
    return Tensor::zeros(dtype, shape).value();
  }
  std::string error(const RunArguments& arguments) const {
    const auto symbols = bind_arguments(graph_, arguments);
    return symbols ? "no error" : symbols.error().message;
  }

  const OpRegistry registry_ = test::ir_test_registry();
  const Graph graph_ = parse_graph(R"(graph {
  %a = Input() {type = "f32[T, 4]"}
  %b = Input() {type = "f32[2*T]"}
  %c = Input() {type = "f32[]"}
  %y = test.scale(%a)
  %s = test.split(%y)
  output y = %y
})",
                                   registry_)
                           .value();
  RunArguments good_{.inputs = {{"a", tensor({3, 4})}, {"b", tensor({6})}, {"c", tensor({})}},
                     .states = {}};
};

// Of all inputs that have them.
TEST_F(BindingTest, SymbolsComeFromExtents) {
  const auto symbols = bind_arguments(graph_, good_);
  ASSERT_TRUE(symbols) << symbols.error().message;
  EXPECT_EQ(symbols->get('T'), 3);
  EXPECT_EQ(symbols->get('S'), -1);
}

// An empty run is a run.
TEST_F(BindingTest, ZeroIsAnExtent) {
  good_.inputs["a"] = tensor({0, 4});
  good_.inputs["b"] = tensor({0});
  EXPECT_EQ(bind_arguments(graph_, good_)->get('T'), 0);
}

// A misspelt name is both.
TEST_F(BindingTest, EveryInputIsNeededAndNoOther) {
  RunArguments few = good_;
  few.inputs.erase("b");
  EXPECT_EQ(error(few), "The graph's input 'b' is not bound.");
  RunArguments more = good_;
  more.inputs["d"] = tensor({1});
  EXPECT_EQ(error(more), "The graph has no input 'd'.");
  // An inner value is no input.
  more = good_;
  more.inputs["y"] = tensor({3, 4});
  EXPECT_EQ(error(more), "The graph has no input 'y'.");
}

// The first thing wrong is named.
TEST_F(BindingTest, TypesAndExtentsMustFit) {
  const auto with = [this](const char* name, Tensor value) {
    RunArguments arguments = good_;
    arguments.inputs[name] = std::move(value);
    return error(arguments);
  };
  EXPECT_EQ(with("a", tensor({3, 4}, DType::kF16)), "Input 'a' is f16; the graph needs f32.");
  EXPECT_EQ(with("a", tensor({12})), "Input 'a' has shape [12]; the graph needs f32[T, 4].");
  EXPECT_EQ(with("a", tensor({3, 5})), "Input 'a' has 5 along axis 1; the graph needs 4.");
  EXPECT_EQ(with("b", tensor({7})),
            "Input 'b' has 7 along axis 0; the graph needs a multiple of 2.");
  EXPECT_EQ(with("b", tensor({8})), "Input 'b' gives T = 4 along axis 0; another input gives 3.");
  EXPECT_EQ(with("c", tensor({1})), "Input 'c' has shape [1]; the graph needs f32[].");
}

// None missing, none too many.
TEST_F(BindingTest, StatesAreBoundExactly) {
  const Graph graph = parse_graph("graph {\n  state @kv : kv {layers = 1}\n}\n", registry_).value();
  NoStore store;
  RunArguments arguments;
  EXPECT_EQ(bind_arguments(graph, arguments).error().message,
            "The graph's state 'kv' is not bound.");
  arguments.states["kv"] = nullptr;
  EXPECT_EQ(bind_arguments(graph, arguments).error().message,
            "The graph's state 'kv' is not bound.");
  arguments.states["kv"] = &store;
  EXPECT_TRUE(bind_arguments(graph, arguments));
  arguments.states["more"] = &store;
  EXPECT_EQ(bind_arguments(graph, arguments).error().message, "The graph has no state 'more'.");
}

// In the order that was asked for.
TEST_F(BindingTest, ReadableValuesFollowTheOutputs) {
  const auto outputs = readable_outputs(graph_, {"s:high", "a"});
  ASSERT_TRUE(outputs);
  ASSERT_EQ(outputs->size(), 3U);
  EXPECT_EQ((*outputs)[0].name, "y");
  EXPECT_EQ((*outputs)[1].value, graph_.find_value("s:high"));
  EXPECT_EQ((*outputs)[2].name, "a");
  const auto missing = readable_outputs(graph_, {"nothing"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "The graph has no value 'nothing' to read.");
}

}  // namespace
}  // namespace quern
