// Tests of the definition as a backend: what it serves, how it runs, what it counts.
#include "backends/reference/backend.h"

#include <gtest/gtest.h>

#include <array>

#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {
namespace {

TensorType f32(std::vector<Dim> dims) {
  return {DType::kF32, std::move(dims), LayoutKind::kRowMajor};
}

class ReferenceBackend : public testing::Test {
 protected:
  std::unique_ptr<Executable> load(const Graph& graph, std::vector<std::string> readable = {}) {
    CompileOptions options;
    options.readable = std::move(readable);
    auto artifact = backend_->compile(graph, options);
    EXPECT_TRUE(artifact) << (artifact ? "" : artifact.error().message);
    auto executable = device_->load(**artifact, nullptr, {});
    EXPECT_TRUE(executable) << (executable ? "" : executable.error().message);
    return std::move(*executable);
  }
  static Tensor vector(const std::vector<float>& values) {
    return Tensor::from<float>(DType::kF32, Shape{static_cast<int64_t>(values.size())}, values)
        .value();
  }
  static std::vector<float> values_of(const RunResult& result, std::string_view name) {
    const Tensor* tensor = result.find(name);
    return tensor == nullptr ? std::vector<float>{} : tensor->read_as<float>().value();
  }

  const std::unique_ptr<Backend> backend_ = make_reference_backend();
  const std::unique_ptr<Device> device_ = backend_->open({}).value();
};

// What others are compared with.
TEST_F(ReferenceBackend, IsTheDefinition) {
  EXPECT_EQ(backend_->name(), "reference");
  EXPECT_EQ(device_->capabilities().correctness, CorrectnessClass::kReference);
  EXPECT_TRUE(device_->capabilities().has_f64);
  EXPECT_EQ(device_->description().name, "reference");
  EXPECT_GT(device_->capacity().total_bytes, 0);
  EXPECT_EQ(backend_->devices()->size(), 1U);
  EXPECT_EQ(backend_->default_caps("anything")->arch, "scalar");
}

// And says why it does not serve the rest.
TEST_F(ReferenceBackend, ServesWhatHasAReferenceKernel) {
  for (const OpDef* op : builtin_ops().list()) {
    const Support support = backend_->supports(*op);
    if (op->reference != nullptr) {
      EXPECT_EQ(support.kind, Support::Kind::kDirect) << op->id;
    }
    if (support.kind == Support::Kind::kMissing) {
      EXPECT_FALSE(support.reason.empty()) << op->id;
    }
  }
  EXPECT_EQ(backend_->supports(*builtin_ops().find("Input")).kind, Support::Kind::kGraphOnly);
  const OpDef odd{.id = "test.odd"};
  EXPECT_EQ(backend_->supports(odd).reason, "test.odd has no reference kernel.");
}

// Values that are read by name come back, too.
TEST_F(ReferenceBackend, RunsNodesInOrder) {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", f32({Dim::symbolic('T')}));
  const ValueId twice = builder.add("math.add", {x, x}, {}, "twice");
  const ValueId square = builder.add("math.mul", {twice, twice}, {}, "square");
  builder.output("y", square);
  builder.output("x_again", x);
  const auto executable = load(builder.finish().value(), {"twice"});
  for (const std::vector<float>& in :
       {std::vector<float>{1, 2, 3}, std::vector<float>{}, std::vector<float>{-0.5F}}) {
    const auto result = executable->run({.inputs = {{"x", vector(in)}}, .states = {}});
    ASSERT_TRUE(result) << result.error().message;
    std::vector<float> doubled, squared;
    for (const float v : in) doubled.push_back(v + v);
    for (const float v : doubled) squared.push_back(v * v);
    EXPECT_EQ(values_of(*result, "y"), squared);
    EXPECT_EQ(values_of(*result, "x_again"), in);
    EXPECT_EQ(values_of(*result, "twice"), doubled);
    EXPECT_EQ(result->values.size(), 3U);
    EXPECT_EQ(result->values[0].first, "y");  // outputs first, in the graph's order
  }
}

// Values are dropped after their last use: a chain of any length holds two of them at a time.
TEST_F(ReferenceBackend, TheArenaIsWhatLivesAtOnce) {
  GraphBuilder builder(builtin_ops());
  ValueId x = builder.input("x", f32({Dim::constant(100)}));
  for (int i = 0; i < 10; ++i) x = builder.add("math.add", {x, x});
  builder.output("y", x);
  const auto executable = load(builder.finish().value());
  EXPECT_EQ(executable->arena_bytes(), 0);
  EXPECT_EQ(executable->weight_bytes(), 0);
  ASSERT_TRUE(
      executable->run({.inputs = {{"x", vector(std::vector<float>(100, 1))}}, .states = {}}));
  EXPECT_EQ(executable->arena_bytes(), 800);
}

// Results stay what they are when the executable runs again, and when it is gone.
TEST_F(ReferenceBackend, ResultsBelongToTheCaller) {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", f32({Dim::symbolic('T')}));
  builder.output("y", builder.add("math.scale", {x}, {{"factor", 2.0}}));
  auto executable = load(builder.finish().value());
  const auto first = executable->run({.inputs = {{"x", vector({1})}}, .states = {}}).value();
  const auto second = executable->run({.inputs = {{"x", vector({5})}}, .states = {}}).value();
  executable.reset();
  EXPECT_EQ(values_of(first, "y"), std::vector<float>{2});
  EXPECT_EQ(values_of(second, "y"), std::vector<float>{10});
}

// Ids that no type rule can check.
TEST_F(ReferenceBackend, ErrorsOfKernelsNameTheNode) {
  GraphBuilder builder(builtin_ops());
  const ValueId table = builder.input("table", f32({Dim::constant(3), Dim::constant(2)}));
  const ValueId rows =
      builder.input("rows", {DType::kI32, {Dim::symbolic('R')}, LayoutKind::kRowMajor});
  builder.output("y", builder.add("shape.gather_rows", {table, rows}, {}, "pick"));
  const auto executable = load(builder.finish().value());
  const std::array<int32_t, 1> outside = {3};
  const auto result = executable->run(
      {.inputs = {{"table", Tensor::zeros(DType::kF32, Shape{3, 2}).value()},
                  {"rows", Tensor::from<int32_t>(DType::kI32, Shape{1}, outside).value()}},
       .states = {}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kOutOfRange);
  EXPECT_TRUE(result.error().message.starts_with("Node 'pick': ")) << result.error().message;
}

}  // namespace
}  // namespace quern
