// Runs of the reference backend: what may be bound, where results lie, and what makes them differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "backends/reference/backend.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {
namespace {

TensorType f32(std::vector<Dim> dims) {
  return {DType::kF32, std::move(dims), LayoutKind::kRowMajor};
}
Tensor vector(const std::vector<float>& values) {
  return Tensor::from<float>(DType::kF32, Shape{static_cast<int64_t>(values.size())}, values)
      .value();
}

class ReferenceRuns : public testing::Test {
 protected:
  void load(GraphBuilder& builder) {
    const auto graph = builder.finish();
    ASSERT_TRUE(graph) << graph.error().message;
    const auto artifact = backend_->compile(*graph, {});
    ASSERT_TRUE(artifact) << artifact.error().message;
    auto executable = device_->load(**artifact, nullptr, {});
    ASSERT_TRUE(executable) << executable.error().message;
    executable_ = std::move(*executable);
  }
  std::string error(const RunArguments& arguments) {
    const auto result = executable_->run(arguments);
    return result ? "no error" : result.error().message;
  }
  static std::vector<float> read(const RunResult& result, std::string_view name) {
    return result.find(name)->read_as<float>().value();
  }

  const std::unique_ptr<Backend> backend_ = make_reference_backend();
  const std::unique_ptr<Device> device_ = backend_->open({}).value();
  std::unique_ptr<Executable> executable_;
};

// z = x + y for rows [T, 2] and a second input with twice as many elements.
class BoundInputs : public ReferenceRuns {
 protected:
  void SetUp() override {
    GraphBuilder builder(builtin_ops());
    const ValueId x = builder.input("x", f32({Dim::symbolic('T'), Dim::constant(2)}));
    const ValueId y = builder.input("y", f32({Dim::symbolic('T', 2)}));
    const ValueId flat = builder.add("shape.reshape", {x}, {{"shape", std::vector<int64_t>{-1}}});
    builder.output("z", builder.add("math.add", {flat, y}));
    load(builder);
  }
  static Tensor zeros(const Shape& shape, DType dtype = DType::kF32) {
    return Tensor::zeros(dtype, shape).value();
  }
};

// One binding of the symbols for all inputs.
TEST_F(BoundInputs, FitAllAtOnce) {
  for (const int64_t rows : {0, 1, 5}) {
    EXPECT_EQ(error({.inputs = {{"x", zeros({rows, 2})}, {"y", zeros({2 * rows})}}, .states = {}}),
              "no error");
  }
}

// One wrong argument at a time.
TEST_F(BoundInputs, EachMistakeIsNamed) {
  const Tensor x = zeros({3, 2}), y = zeros({6});
  EXPECT_EQ(error({.inputs = {{"x", x}}, .states = {}}), "The graph's input 'y' is not bound.");
  EXPECT_EQ(error({.inputs = {{"x", x}, {"y", y}, {"w", y}}, .states = {}}),
            "The graph has no input 'w'.");
  EXPECT_EQ(error({.inputs = {{"x", zeros({3, 2}, DType::kF64)}, {"y", y}}, .states = {}}),
            "Input 'x' is f64; the graph needs f32.");
  EXPECT_EQ(error({.inputs = {{"x", zeros({6})}, {"y", y}}, .states = {}}),
            "Input 'x' has shape [6]; the graph needs f32[T, 2].");
  EXPECT_EQ(error({.inputs = {{"x", zeros({3, 3})}, {"y", y}}, .states = {}}),
            "Input 'x' has 3 along axis 1; the graph needs 2.");
  EXPECT_EQ(error({.inputs = {{"x", x}, {"y", zeros({7})}}, .states = {}}),
            "Input 'y' has 7 along axis 0; the graph needs a multiple of 2.");
  EXPECT_EQ(error({.inputs = {{"x", x}, {"y", zeros({8})}}, .states = {}}),
            "Input 'y' gives T = 4 along axis 0; another input gives 3.");
  EXPECT_EQ(error({.inputs = {{"x", x}, {"y", y}}, .states = {{"kv", nullptr}}}),
            "The graph has no state 'kv'.");
  EXPECT_EQ(error({.inputs = {{"x", x}, {"y", y}}, .states = {}, .outputs = {{"w", y}}}),
            "The graph has no output 'w' to write.");
  EXPECT_EQ(error({.inputs = {{"x", x}, {"y", y}}, .states = {}, .outputs = {{"z", x}}}),
            "Node 'math.add.1': The memory for output 'z' is f32[3, 2]; the result is f32[6].");
}

// Also where one value has two names, or is an input.
TEST_F(ReferenceRuns, ResultsLieWhereTheCallerSays) {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", f32({Dim::constant(3)}));
  const ValueId y = builder.add("math.add", {x, x});
  builder.output("y", y);
  builder.output("same", y);  // one value under two names
  builder.output("x_too", x);
  load(builder);
  const Tensor first = vector({0, 0, 0}), second = vector({0, 0, 0}), third = vector({0, 0, 0});
  const auto result =
      executable_->run({.inputs = {{"x", vector({1, 2, 3})}},
                        .states = {},
                        .outputs = {{"y", first}, {"same", second}, {"x_too", third}}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(first.read_as<float>().value(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(second.read_as<float>().value(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(third.read_as<float>().value(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(result->find("same")->host_view()->data(), second.host_view()->data());
}

// Only some outputs bound: the others get tensors of their own.
TEST_F(ReferenceRuns, OtherResultsAreFresh) {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", f32({Dim::constant(2)}));
  builder.output("a", builder.add("elementwise.neg", {x}));
  builder.output("b", builder.add("math.add", {x, x}));
  load(builder);
  const Tensor memory = vector({9, 9});
  const auto result = executable_->run(
      {.inputs = {{"x", vector({1, 2})}}, .states = {}, .outputs = {{"b", memory}}});
  ASSERT_TRUE(result);
  EXPECT_EQ(read(*result, "a"), (std::vector<float>{-1, -2}));
  EXPECT_EQ(memory.read_as<float>().value(), (std::vector<float>{2, 4}));
}

// A step counter that repeats would repeat tokens.
TEST_F(ReferenceRuns, StreamsAndNodesMakeRandomNumbersDiffer) {
  GraphBuilder builder(builtin_ops());
  const Attributes attributes{{"shape", std::vector<int64_t>{64}}};
  builder.output("a", builder.add("random.uniform", {kNoValue}, attributes));
  builder.output("b", builder.add("random.uniform", {kNoValue}, attributes));
  load(builder);
  const auto run = [&](uint32_t stream) {
    return executable_->run({.inputs = {}, .states = {}, .stream = stream}).value();
  };
  const RunResult first = run(0), again = run(0), next = run(1);
  EXPECT_EQ(read(first, "a"), read(again, "a"));
  EXPECT_NE(read(first, "a"), read(first, "b"));
  EXPECT_NE(read(first, "a"), read(next, "a"));
}

// Inputs do not run.
TEST_F(ReferenceRuns, ProfilesTimeEveryNodeThatRuns) {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", f32({Dim::constant(2)}));
  builder.output("y", builder.add("math.exp", {builder.add("math.sin", {x})}));
  load(builder);
  RunProfile profile;
  ASSERT_TRUE(
      executable_->run({.inputs = {{"x", vector({1, 2})}}, .states = {}, .profile = &profile}));
  ASSERT_EQ(profile.nodes.size(), 2u);
  EXPECT_EQ(profile.nodes[0].node, 1);
  EXPECT_EQ(profile.nodes[1].node, 2);
  for (const NodeTime& time : profile.nodes) EXPECT_GE(time.seconds, 0);
}

// A value that two nodes read, the second as both operands, is dropped once and not too early.
TEST_F(ReferenceRuns, SharedValuesLiveToTheirLastReader) {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", f32({Dim::constant(1)}));
  const ValueId a = builder.add("math.add", {x, x});
  const ValueId b = builder.add("math.mul", {a, a});
  const ValueId c = builder.add("math.add", {a, b});
  builder.output("c", builder.add("math.mul", {c, c}));
  load(builder);
  for (int run = 0; run < 3; ++run) {
    const auto result = executable_->run({.inputs = {{"x", vector({3})}}, .states = {}});
    ASSERT_TRUE(result);
    EXPECT_EQ(read(*result, "c"), std::vector<float>{42 * 42});
  }
  EXPECT_EQ(executable_->arena_bytes(), 12);  // a, b and c at once
}

// No nodes, no tokens.
TEST_F(ReferenceRuns, AGraphOfNothingRuns) {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", f32({Dim::symbolic('T')}));
  builder.output("x", x);
  load(builder);
  const auto result = executable_->run({.inputs = {{"x", vector({})}}, .states = {}});
  ASSERT_TRUE(result);
  EXPECT_TRUE(read(*result, "x").empty());
  EXPECT_EQ(executable_->arena_bytes(), 0);
}

}  // namespace
}  // namespace quern
