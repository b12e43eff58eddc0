// Errors of the public API, written against include/quern alone: code and text.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "quern/quern.h"

namespace quern {
namespace {

// A type of floats.
TensorType f32(std::vector<Dim> dims) {
  return {DType::kF32, std::move(dims), LayoutKind::kRowMajor};
}

// y = x * factor + w, with w a weight: enough to go wrong in every place.
// One symbol, one weight, two nodes.
Result<Graph> small_graph() {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", f32({Dim::symbolic('T'), Dim::constant(4)}));
  const ValueId w = builder.weight("w", f32({Dim::constant(4)}));
  const ValueId y = builder.add("math.scale", {x}, {{"factor", 0.5}}, "scaled");
  builder.output("y", builder.add("math.add", {y, w}, {}, "sum"));
  return builder.finish();
}

// A source that has a single weight.
class OneWeight final : public WeightSource {
 public:
  explicit OneWeight(Tensor tensor) : tensor_(std::move(tensor)) {}
  std::vector<WeightInfo> list() const override {
    return {{"w", tensor_.dtype(), tensor_.shape()}};
  }
  Result<WeightInfo> info(std::string_view) const override { return list()[0]; }
  Result<Tensor> weight(std::string_view name) const override {
    if (name == "w") return tensor_;
    return tl::unexpected(Error{ErrorCode::kNotFound, "Only 'w' is here."});
  }

 private:
  Tensor tensor_;
};

// Runs on every backend that has a device.
class ApiErrors : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto backend = registry_.find(GetParam());
    ASSERT_TRUE(backend) << backend.error().message;
    backend_ = *backend;
    auto device = backend_->open({});
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
  }
  Result<std::unique_ptr<Executable>> load(const Graph& graph, const WeightSource* weights,
                                           std::vector<std::string> readable = {}) {
    CompileOptions options;
    options.readable = std::move(readable);
    return compile_and_load(graph, *backend_, *device_, weights, options);
  }
  static Tensor zeros(const Shape& shape, DType dtype = DType::kF32) {
    return Tensor::zeros(dtype, shape).value();
  }

  const BackendRegistry registry_ = register_backends();
  const Backend* backend_ = nullptr;
  std::unique_ptr<Device> device_;
  const OneWeight weights_{zeros(Shape{4})};
};

INSTANTIATE_TEST_SUITE_P(Backends, ApiErrors, testing::Values("reference", "cpu"));

// At load, not at the first run.
TEST_P(ApiErrors, WeightsMustBeGivenAndFit) {
  const Graph graph = small_graph().value();
  const auto without = load(graph, nullptr);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_NE(
      without.error().message.find("The graph needs the weight 'w', but no weights are given."),
      std::string::npos)
      << without.error().message;
  const OneWeight other(zeros(Shape{5}));
  const auto wrong = load(graph, &other);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(wrong.error().message.find("Weight 'w' is f32[5]; the graph needs f32[4]."),
            std::string::npos)
      << wrong.error().message;
}

// Names are not searched for.
TEST_P(ApiErrors, ReadableValuesMustExist) {
  const auto loaded = load(small_graph().value(), &weights_, {"nothing"});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(loaded.error().message, "Pass verify: The graph has no value 'nothing' to read.");
}

// Every argument is checked against the graph.
TEST_P(ApiErrors, ArgumentsOfARunMustFit) {
  const auto executable = load(small_graph().value(), &weights_).value();
  const auto error = [&](std::map<std::string, Tensor, std::less<>> inputs) {
    const auto result = executable->run({.inputs = std::move(inputs), .states = {}});
    EXPECT_FALSE(result);
    if (result) return std::string("no error");
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    return result.error().message;
  };
  EXPECT_EQ(error({}), "The graph's input 'x' is not bound.");
  EXPECT_EQ(error({{"x", zeros({2, 4})}, {"z", zeros({1})}}), "The graph has no input 'z'.");
  EXPECT_EQ(error({{"x", zeros({2, 3})}}), "Input 'x' has 3 along axis 1; the graph needs 4.");
  EXPECT_EQ(error({{"x", zeros({4})}}), "Input 'x' has shape [4]; the graph needs f32[T, 4].");
  EXPECT_EQ(error({{"x", zeros({2, 4}, DType::kF64)}}), "Input 'x' is f64; the graph needs f32.");
  // The executable is as good as new after all these.
  EXPECT_TRUE(executable->run({.inputs = {{"x", zeros({2, 4})}}, .states = {}}));
}

// A tensor that was never filled.
// Rank 0: its shape fits the scalar input, so that only the missing memory tells.
TEST_P(ApiErrors, AnEmptyTensorIsNoInput) {
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", f32({}));
  builder.output("y", builder.add("math.scale", {x}, {{"factor", 2.0}}));
  const auto executable = load(builder.finish().value(), nullptr).value();
  const auto result = executable->run({.inputs = {{"x", Tensor()}}, .states = {}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kFailedPrecondition);
}

// 0 tokens are a valid run.
TEST_P(ApiErrors, NoRowsAreNoError) {
  const auto executable = load(small_graph().value(), &weights_).value();
  const auto result = executable->run({.inputs = {{"x", zeros({0, 4})}}, .states = {}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->find("y")->shape(), (Shape{0, 4}));
}

// An artifact of another backend is refused, not taken for one's own.
TEST_P(ApiErrors, ArtifactsBelongToTheirBackend) {
  const std::string other_name = std::string(GetParam()) == "cpu" ? "reference" : "cpu";
  const Backend* other = registry_.find(other_name).value();
  const auto artifact = other->compile(small_graph().value(), {}).value();
  const auto loaded = device_->load(*artifact, &weights_, {});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(loaded.error().message,
            "The artifact was not compiled by the backend " + std::string(GetParam()) + ".");
  EXPECT_FALSE(backend_->validate(*artifact));
}

// Every attribute of the state.
TEST_P(ApiErrors, StoresMustBeDeclaredWhole) {
  const auto store = device_->make_kv_store({"kv", "kv", {{"layers", int64_t{1}}}});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(store.error().message, "State 'kv' needs the attribute 'heads', from 1 to 1048576.");
}

// A store of another model would be read out of its bounds.
TEST_P(ApiErrors, StoresMustFitTheirGraph) {
  const auto declaration = [](int64_t layers, int64_t heads) {
    return StateDecl{"kv",
                     "kv",
                     {{"layers", layers},
                      {"heads", heads},
                      {"key_dim", int64_t{4}},
                      {"value_dim", int64_t{4}},
                      {"key_type", std::string("f32")},
                      {"value_type", std::string("f32")}}};
  };
  GraphBuilder builder(builtin_ops());
  builder.state(declaration(2, 1));
  const std::vector<Dim> rows = {Dim::symbolic('T'), Dim::constant(1), Dim::constant(4)};
  const TensorType ids{DType::kI32, {Dim::symbolic('T')}, LayoutKind::kRowMajor};
  const ValueId k = builder.input("k", f32(rows));
  const ValueId positions = builder.input("positions", ids);
  const ValueId sequences = builder.input("sequences", ids);
  builder.add("kv.append", {k, k, positions, sequences}, {{"layer", int64_t{1}}}, "append");
  const auto graph = builder.finish();
  ASSERT_TRUE(graph) << graph.error().message;
  const auto executable = load(*graph, nullptr).value();
  const auto run = [&](KvStore* store, int32_t position) {
    const std::array<int32_t, 1> at = {position};
    const std::array<int32_t, 1> zero = {0};
    return executable->run(
        {.inputs = {{"k", zeros({1, 1, 4})},
                    {"positions", Tensor::from<int32_t>(DType::kI32, Shape{1}, at).value()},
                    {"sequences", Tensor::from<int32_t>(DType::kI32, Shape{1}, zero).value()}},
         .states = {{"kv", store}}});
  };
  EXPECT_EQ(run(nullptr, 0).error().message, "The graph's state 'kv' is not bound.");
  for (const auto& [layers, heads] : {std::pair{1, 1}, std::pair{2, 3}}) {
    const auto small = device_->make_kv_store(declaration(layers, heads)).value();
    ASSERT_TRUE(small->create_sequence());
    ASSERT_TRUE(small->reserve(0, 1));
    EXPECT_FALSE(run(small.get(), 0)) << layers << " " << heads;
  }
  const auto store = device_->make_kv_store(declaration(2, 1)).value();
  // In order: no sequence, no room, room; then positions outside of it.
  EXPECT_EQ(run(store.get(), 0).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(store->create_sequence());
  EXPECT_EQ(run(store.get(), 0).error().code, ErrorCode::kOutOfRange);
  ASSERT_TRUE(store->reserve(0, 2));
  EXPECT_TRUE(run(store.get(), 1));
  for (const int32_t outside : {2, -1, INT32_MAX, INT32_MIN}) {
    const auto result = run(store.get(), outside);
    ASSERT_FALSE(result) << outside;
    EXPECT_EQ(result.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(result.error().message.find("Node 'append'"), std::string::npos);
  }
}

// It exists to be refused.
TEST(NullBackend, RefusesEverythingByName) {
  const BackendRegistry registry = register_backends();
  const Backend* backend = registry.find("null").value();
  const Graph graph = small_graph().value();
  const OpDef& scale = *builtin_ops().find("math.scale");
  EXPECT_EQ(backend->supports(scale).kind, Support::Kind::kMissing);
  EXPECT_EQ(backend->supports(scale).reason, "Backend null implements no math.scale.");
  EXPECT_TRUE(backend->devices()->empty());
  const Error errors[] = {backend->default_caps("x").error(), backend->open({}).error(),
                          backend->legal(graph, graph.nodes().back()).error(),
                          backend->compile(graph, {}).error()};
  for (const Error& error : errors) EXPECT_EQ(error.code, ErrorCode::kUnimplemented);
  EXPECT_EQ(errors[0].message, "Backend null knows no architecture 'x'.");
  EXPECT_EQ(errors[1].message, "Backend null has no device.");
  EXPECT_EQ(errors[2].message, "Backend null cannot run math.add (node 'sum').");
  EXPECT_EQ(errors[3].message, "Backend null cannot compile.");
}

// Nothing falls back in silence.
TEST(Registry, UnknownBackendsAreNotReplaced) {
  const auto missing = register_backends().find("gpu");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message,
            "There is no backend 'gpu'; this build has reference, cpu, null.");
  EXPECT_FALSE(register_backends().find(""));
  EXPECT_FALSE(register_backends().find("CPU"));
}

// Threads and instruction sets.
TEST(CpuDevice, OptionsAreChecked) {
  const BackendRegistry registry = register_backends();
  const Backend* cpu = registry.find("cpu").value();
  const auto error = [&](const DeviceOptions& options) { return cpu->open(options).error(); };
  EXPECT_EQ(error({.num_threads = -1}).message, "-1 threads are asked for; the limit is 1024.");
  EXPECT_EQ(error({.num_threads = INT32_MAX}).message,
            "2147483647 threads are asked for; the limit is 1024.");
  EXPECT_EQ(error({.isa = "mmx"}).code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(cpu->open({.num_threads = 3, .isa = "scalar"}));
}

// A graph built with one registry stands for itself: the text form needs the same operations.
TEST(Text, ErrorsNameLineAndColumn) {
  const auto graph =
      parse_graph("graph {\n  %x = Input() {type = \"f32[2]\"}\n  oops\n}\n", builtin_ops());
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(graph.error().message, "Line 3, column 3: '%' is expected here.");
}

}  // namespace
}  // namespace quern
