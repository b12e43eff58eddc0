// Guarded runs, and memory for results that the caller gives.
#include "conformance/subject.h"

#include <gtest/gtest.h>

#include "conformance/case_values.h"
#include "conformance/error_units.h"
#include "conformance/host_values.h"
#include "conformance/one_op.h"
#include "quern/graph_builder.h"

namespace quern {
namespace {

Tensor numbers(DType dtype, const Shape& shape, std::vector<double> values) {
  return *tensor_of_numbers(dtype, shape, values);
}

class OnBackend : public testing::TestWithParam<const char*> {
 protected:
  BackendRegistry registry_ = register_backends();
  const Backend* backend_ = *registry_.find(GetParam());
  std::unique_ptr<Device> device_ = *backend_->open({.num_threads = 1, .isa = ""});

  std::unique_ptr<Executable> load(const Graph& graph) {
    const auto artifact = backend_->compile(graph, {});
    auto executable = device_->load(**artifact, nullptr, {});
    EXPECT_TRUE(executable) << executable.error().message;
    return std::move(*executable);
  }
};

// One byte before, one behind, farther away.
TEST(GuardedTensor, SeesWritesAroundIt) {
  for (const bool is_aligned : {true, false}) {
    const auto guarded = GuardedTensor::make(DType::kF32, Shape{3}, is_aligned);
    ASSERT_TRUE(guarded);
    const auto address = reinterpret_cast<uintptr_t>(guarded->tensor().host_view()->data());
    EXPECT_EQ(address % 64, is_aligned ? 0u : 4u);
    EXPECT_TRUE(guarded->is_intact());
    Buffer buffer = guarded->tensor().buffer();
    std::byte* data = buffer.mutable_host_view()->data();
    data[0] = std::byte{0};  // its own
    EXPECT_TRUE(guarded->is_intact());
    for (const int outside : {-1, -200, 12, 200}) {
      const std::byte kept = data[outside];
      data[outside] = std::byte{0};
      EXPECT_FALSE(guarded->is_intact()) << outside;
      data[outside] = kept;
    }
  }
}

// Guards around nothing.
TEST(GuardedTensor, CanBeEmpty) {
  const auto guarded = GuardedTensor::make(DType::kF64, Shape{0, 3}, false);
  ASSERT_TRUE(guarded);
  EXPECT_TRUE(guarded->is_intact());
  EXPECT_EQ(guarded->tensor().size_bytes(), 0);
}

// Not into a copy.
TEST_P(OnBackend, WritesResultsIntoTheMemoryOfTheCaller) {
  const std::vector<Tensor> inputs = {numbers(DType::kF32, Shape{3}, {1, 2, 3}),
                                      numbers(DType::kF32, Shape{3}, {10, 20, 30})};
  const Graph graph = *one_op_graph(builtin_ops(), "math.add", inputs, {});
  const auto executable = load(graph);
  RunArguments arguments = one_op_arguments(inputs);
  const Tensor memory = *Tensor::zeros(DType::kF32, Shape{3});
  arguments.outputs.emplace("z", memory);
  const auto result = executable->run(arguments);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*memory.read_as<float>(), (std::vector<float>{11, 22, 33}));
  EXPECT_EQ(result->find("z")->host_view()->data(), memory.host_view()->data());
  // Without it the next run leaves the memory alone.
  arguments.outputs.clear();
  ASSERT_TRUE(executable->run(arguments));
  Buffer buffer = memory.buffer();
  ASSERT_TRUE(buffer.write(0, std::vector<std::byte>(12)));
  ASSERT_TRUE(executable->run(arguments));
  EXPECT_EQ(*memory.read_as<float>(), (std::vector<float>{0, 0, 0}));
}

// Inputs that are results.
TEST_P(OnBackend, CopiesWhatIsNotComputedThere) {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", type_of(numbers(DType::kF32, Shape{2, 2}, {0, 0, 0, 0})));
  b.output("same", x);
  const ValueId y = b.add("elementwise.neg", {x});
  b.output("y", y);
  b.output("again", y);
  b.output("flat", b.add("shape.reshape", {y}, {{"shape", std::vector<int64_t>{4}}}));
  const auto executable = load(*b.finish());
  RunArguments arguments;
  arguments.inputs.emplace("x", numbers(DType::kF32, Shape{2, 2}, {1, 2, 3, 4}));
  std::map<std::string, Tensor> memory;
  for (const char* name : {"same", "y", "again"}) {
    memory[name] = *Tensor::zeros(DType::kF32, Shape{2, 2});
  }
  memory["flat"] = *Tensor::zeros(DType::kF32, Shape{4});
  for (const auto& [name, tensor] : memory) arguments.outputs.emplace(name, tensor);
  const auto result = executable->run(arguments);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*memory["same"].read_as<float>(), (std::vector<float>{1, 2, 3, 4}));
  for (const char* name : {"y", "again", "flat"}) {
    EXPECT_EQ(*memory[name].read_as<float>(), (std::vector<float>{-1, -2, -3, -4})) << name;
  }
}

// Dtype, shape, read-only.
TEST_P(OnBackend, RefusesMemoryThatDoesNotFit) {
  const std::vector<Tensor> inputs = {numbers(DType::kF32, Shape{3}, {1, 2, 3})};
  const auto executable = load(*one_op_graph(builtin_ops(), "math.exp", inputs, {}));
  const auto error_of = [&](const char* name, const Tensor& memory) {
    RunArguments arguments = one_op_arguments(inputs);
    arguments.outputs.emplace(name, memory);
    const auto result = executable->run(arguments);
    EXPECT_FALSE(result);
    return result ? "" : result.error().message;
  };
  EXPECT_NE(error_of("y", *Tensor::zeros(DType::kF64, Shape{3}))
                .find("The memory for output 'y' is f64[3]; the result is f32[3]."),
            std::string::npos);
  EXPECT_NE(error_of("y", *Tensor::zeros(DType::kF32, Shape{4})).find("f32[4]"), std::string::npos);
  EXPECT_EQ(error_of("z", *Tensor::zeros(DType::kF32, Shape{3})),
            "The graph has no output 'z' to write.");
  static const float kFixed[3] = {};
  const Tensor fixed =
      *Tensor::make(DType::kF32, Shape{3},
                    Buffer::wrap_host(std::as_bytes(std::span(kFixed)), std::make_shared<int>()));
  EXPECT_NE(error_of("y", fixed).find("read-only"), std::string::npos);
}

// Layouts change no bit.
TEST_P(OnBackend, VariantsOfAGraphGiveTheSame) {
  const CaseRow row{"projection.linear", "f[N,D] f[M,D] f[M]", "", "N=4 D=6 M=5", ""};
  const CasePattern pattern = parse_case_row(row, builtin_ops())->front();
  const auto inputs = *case_inputs(pattern, pattern.sizes[0], DType::kF32, ValueSet::kNormal, 3);
  const auto run = [&](GraphVariant variant) {
    const auto graph = *make_case_graph(pattern, inputs, variant);
    EXPECT_TRUE(graph.has_value());
    auto subject = Subject::load(*backend_, *device_, *graph);
    EXPECT_TRUE(subject) << subject.error().message;
    const auto outcome = subject->run(graph->inputs, true);
    EXPECT_TRUE(outcome) << outcome.error().message;
    EXPECT_TRUE(outcome->damaged.empty());
    return outcome->results.at(0).second;
  };
  const Tensor plain = run(GraphVariant::kPlain);
  for (const GraphVariant variant :
       {GraphVariant::kCopied, GraphVariant::kTransposed, GraphVariant::kWeights}) {
    EXPECT_EQ(bit_difference(run(variant), plain), "") << graph_variant_name(variant);
  }
  // A repeated first row is another input.
  EXPECT_NE(bit_difference(run(GraphVariant::kBroadcast), plain), "");
}

// No inputs, nothing to vary.
TEST(CaseGraph, HasNoVariantsOfNothing) {
  const CasePattern pattern =
      parse_case_row({"math.exp", "f[N]", "", "N=4", ""}, builtin_ops())->front();
  const auto inputs = *case_inputs(pattern, pattern.sizes[0], DType::kF32, ValueSet::kNormal, 3);
  for (const GraphVariant variant :
       {GraphVariant::kTransposed, GraphVariant::kBroadcast, GraphVariant::kWeights}) {
    const auto graph = make_case_graph(pattern, inputs, variant);
    ASSERT_TRUE(graph);
    EXPECT_FALSE(graph->has_value()) << graph_variant_name(variant);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, OnBackend, testing::Values("reference", "cpu"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace quern
