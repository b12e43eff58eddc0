// Tests of whole runs: binding, results, errors, memory.
#include <gtest/gtest.h>

#include "quern/graph_builder.h"
#include "support/graph_runner.h"

namespace quern {
namespace {

using test::load_graph;
using test::LoadedGraph;
using test::random_tensor;
using test::same_result_bits;
using test::same_tensor_bits;

const TensorType kRows{DType::kF32, {Dim::symbolic('T'), Dim::constant(8)}};
const TensorType kWeight{DType::kF32, {Dim::constant(5), Dim::constant(8)}};

// y = norm(x) W^T, with the norm readable as "normed".
// One readable value in the middle and one weight: the smallest graph that has every kind of
// result.
Graph small_graph() {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", kRows);
  const ValueId normed = b.add("math.rmsnorm", {x}, {}, "normed");
  const ValueId y = b.add("projection.linear", {normed, b.weight("w", kWeight)}, {}, "y");
  b.output("y", y);
  auto graph = b.finish();
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return std::move(*graph);
}

test::MemoryWeights small_weights() {
  std::mt19937 random(3);
  test::MemoryWeights weights;
  weights.add("w", random_tensor(DType::kF32, Shape{5, 8}, random));
  return weights;
}

test::LoadOptions on_cpu(int num_threads, std::string isa = {}) {
  test::LoadOptions options;
  options.device.num_threads = num_threads;
  options.device.isa = std::move(isa);
  return options;
}

test::LoadOptions reading(std::string backend, std::vector<std::string> readable) {
  test::LoadOptions options;
  options.backend = std::move(backend);
  options.compile.readable = std::move(readable);
  return options;
}

Error load_error(const Graph& graph, const test::LoadOptions& options,
                 const WeightSource* weights = nullptr) {
  auto loaded = load_graph(graph, options, weights);
  EXPECT_FALSE(loaded.has_value());
  return loaded ? Error() : loaded.error();
}

Error run_error(std::map<std::string, Tensor, std::less<>> inputs) {
  const auto weights = small_weights();
  auto loaded = load_graph(small_graph(), on_cpu(0), &weights);
  EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
  auto result = loaded->run(std::move(inputs));
  EXPECT_FALSE(result.has_value());
  return result ? Error() : result.error();
}

// Sizes come back after others, so that a bound plan is used again, dropped and made anew.
TEST(CpuExecutable, GivesTheBitsOfTheReferenceAtEverySizeInAnyOrder) {
  const auto weights = small_weights();
  const Graph graph = small_graph();
  auto reference = load_graph(graph, reading("reference", {"normed"}), &weights);
  auto cpu = load_graph(graph, reading("cpu", {"normed"}), &weights);
  ASSERT_TRUE(reference && cpu);
  std::mt19937 random(5);
  // More sizes than bound plans are kept, some twice.
  for (const int64_t rows : {1, 7, 0, 64, 1, 2, 3, 4, 5, 6, 8, 9, 10, 1, 64}) {
    const Tensor x = random_tensor(DType::kF32, Shape{rows, 8}, random);
    const auto expected = reference->run({{"x", x}});
    const auto actual = cpu->run({{"x", x}});
    ASSERT_TRUE(expected && actual);
    EXPECT_TRUE(same_result_bits(*actual, *expected)) << rows << " rows";
  }
}

// Results own their memory: a caller may keep them for as long as it likes.
TEST(CpuExecutable, ResultsStayWhenTheNextRunOverwritesThePlan) {
  const auto weights = small_weights();
  auto cpu = load_graph(small_graph(), reading("cpu", {"normed"}), &weights);
  ASSERT_TRUE(cpu.has_value());
  std::mt19937 random(5);
  const Tensor x = random_tensor(DType::kF32, Shape{3, 8}, random);
  const auto first = cpu->run({{"x", x}});
  ASSERT_TRUE(first.has_value());
  const auto kept = first->find("normed")->read();
  ASSERT_TRUE(cpu->run({{"x", random_tensor(DType::kF32, Shape{3, 8}, random)}}).has_value());
  EXPECT_EQ(*first->find("normed")->read(), *kept);
}

// 3 x 8 floats are 96 bytes, all of which the test overwrites afterwards.
TEST(CpuExecutable, AnInputReturnedAsOutputIsACopy) {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", kRows);
  b.output("y", x);
  b.output("flat", b.add("shape.reshape", {x}, {{"shape", std::vector<int64_t>{-1}}}));
  auto graph = b.finish();
  ASSERT_TRUE(graph.has_value());
  auto cpu = load_graph(*graph, on_cpu(0));
  ASSERT_TRUE(cpu.has_value());
  std::mt19937 random(5);
  Tensor input = random_tensor(DType::kF32, Shape{3, 8}, random);
  const auto result = cpu->run({{"x", input}});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_TRUE(same_tensor_bits(*result->find("y"), input));
  EXPECT_EQ(result->find("flat")->shape(), (Shape{24}));
  const auto kept = result->find("y")->read();
  ASSERT_TRUE(input.buffer().write(0, std::vector<std::byte>(96)).has_value());
  EXPECT_EQ(*result->find("y")->read(), *kept);
}

TEST(CpuExecutable, WeightsAndConstantsCanBeOutputs) {
  GraphBuilder b(builtin_ops());
  b.output("w", b.weight("w", kWeight));
  b.output("c", b.constant("c", DType::kF32, Shape{3}, {1, 2, 3}));
  auto graph = b.finish();
  ASSERT_TRUE(graph.has_value());
  const auto weights = small_weights();
  auto cpu = load_graph(*graph, on_cpu(0), &weights);
  ASSERT_TRUE(cpu.has_value()) << cpu.error().message;
  const auto result = cpu->run({});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_TRUE(same_tensor_bits(*result->find("w"), *weights.weight("w")));
  EXPECT_EQ(*result->find("c")->read_as<float>(), (std::vector<float>{1, 2, 3}));
}

// A chain of 20 values of 100 x 8 floats = 3,200 bytes: a node reads one and writes one, so two at
// a time suffice.
TEST(CpuExecutable, TheArenaHoldsWhatLivesAtOnceNotAllValues) {
  GraphBuilder b(builtin_ops());
  ValueId x = b.input("x", kRows);
  for (int i = 0; i < 20; ++i) {
    x = b.add("shape.permute", {x}, {{"order", std::vector<int64_t>{1, 0}}});
  }
  b.output("y", x);
  auto graph = b.finish();
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  auto cpu = load_graph(*graph, on_cpu(0));
  ASSERT_TRUE(cpu.has_value());
  std::mt19937 random(5);
  ASSERT_TRUE(cpu->run({{"x", random_tensor(DType::kF32, Shape{100, 8}, random)}}).has_value());
  EXPECT_LE(cpu->executable->arena_bytes(), 2 * 3200);
  EXPECT_GT(cpu->executable->arena_bytes(), 0);
}

TEST(CpuExecutable, NamesTheInputInErrorsOfARun) {
  std::mt19937 random(5);
  EXPECT_EQ(run_error({}).message, "The graph's input 'x' is not bound.");
  EXPECT_EQ(run_error({{"x", random_tensor(DType::kF32, Shape{2, 9}, random)}}).message,
            "Input 'x' has 9 along axis 1; the graph needs 8.");
  EXPECT_EQ(run_error({{"x", random_tensor(DType::kF16, Shape{2, 8}, random)}}).message,
            "Input 'x' is f16; the graph needs f32.");
}

TEST(CpuExecutable, NamesTheWeightThatIsMissing) {
  EXPECT_EQ(load_error(small_graph(), on_cpu(0)).message,
            "Node 'y' (projection.linear): The graph needs the weight 'w', but no weights are "
            "given.");
}

// 16 TiB of weights, refused by their types before the source is asked.
// 2^21 squared times 4 bytes = 2^44 = 16,384 GiB.
TEST(CpuExecutable, RefusesWeightsThatDoNotFit) {
  GraphBuilder b(builtin_ops());
  const Dim columns = Dim::constant(int64_t{1} << 21);
  const ValueId w = b.weight("w", {DType::kF32, {columns, columns}});
  b.output("y", b.add("projection.linear",
                      {b.input("x", {DType::kF32, {Dim::symbolic('T'), columns}}), w}));
  auto graph = b.finish();
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  const Error error = load_error(*graph, on_cpu(1));
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(error.message.starts_with("Packing the weights needs 16384.0 GiB; the machine has "))
      << error.message;
}

// 2^42 floats are the same 16,384 GiB, this time in the arena.
TEST(CpuExecutable, RefusesARunThatDoesNotFit) {
  GraphBuilder b(builtin_ops());
  const ValueId x =
      b.add("random.uniform", {}, {{"shape", std::vector<int64_t>{int64_t{1} << 42}}});
  b.output("y", b.add("reduction.sum", {x}));
  auto graph = b.finish();
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  auto loaded = load_graph(*graph, on_cpu(1));
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const auto result = loaded->run({});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(result.error().message.starts_with("A run of this size needs 16384.0 GiB; "))
      << result.error().message;
}

// 3 rows twice and 1 row once: two operations times two shapes. The bytes of the norm count its
// input and output, 3 x 8 floats each, in two runs.
TEST(CpuExecutable, AProfileSumsRunsByOperationAndShape) {
  const auto weights = small_weights();
  auto cpu = load_graph(small_graph(), on_cpu(1), &weights);
  ASSERT_TRUE(cpu.has_value());
  std::mt19937 random(5);
  const auto run = [&](int64_t rows) {
    return cpu->run({{"x", random_tensor(DType::kF32, Shape{rows, 8}, random)}}).has_value();
  };
  ASSERT_TRUE(run(3));
  EXPECT_TRUE(cpu->executable->take_profile().empty());  // off at first
  cpu->executable->set_profiling(true);
  ASSERT_TRUE(run(3) && run(3) && run(1));
  const auto entries = cpu->executable->take_profile();
  ASSERT_EQ(entries.size(), 4U);  // two operations, two sizes
  EXPECT_EQ(entries[0].op, "math.rmsnorm");
  EXPECT_EQ(entries[0].runs, 2);
  EXPECT_EQ(entries[0].bytes, 2 * 2 * 3 * 8 * 4);  // x and y
  EXPECT_EQ(entries[1].op, "projection.linear");
  EXPECT_EQ(entries[1].detail, "f32 f32 [5, 8] x 3");
  EXPECT_EQ(entries[1].products, 2 * 3 * 5 * 8);
  EXPECT_EQ(entries[3].detail, "f32 f32 [5, 8] x 1");
  for (const ProfileEntry& entry : entries) EXPECT_GE(entry.seconds, 0);
  EXPECT_TRUE(cpu->executable->take_profile().empty());
  cpu->executable->set_profiling(false);
  ASSERT_TRUE(run(2));
  EXPECT_TRUE(cpu->executable->take_profile().empty());
}

// Copies the whole registry, since a graph needs the built-in operations besides the odd one.
TEST(CpuBackend, RefusesAnOperationWithoutAKernelByName) {
  OpRegistry ops;
  for (const OpDef* op : builtin_ops().list()) ops.add(*op);
  OpDef unknown = *builtin_ops().find("math.rmsnorm");
  unknown.id = "test.unknown";
  unknown.reference = nullptr;
  ops.add(unknown);
  GraphBuilder b(ops);
  b.output("y", b.add("test.unknown", {b.input("x", kRows)}, {}, "odd"));
  auto graph = b.finish();
  ASSERT_TRUE(graph.has_value());
  const Error error = load_error(*graph, on_cpu(0));
  EXPECT_EQ(error.code, ErrorCode::kUnimplemented);
  EXPECT_EQ(error.message,
            "Backend cpu cannot run test.unknown (node 'odd'): it has no kernel for it.");
}

TEST(CpuDevice, RefusesInstructionSetsItDoesNotHave) {
  const Error error = load_error(small_graph(), on_cpu(0, "mmx"));
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(
      error.message.starts_with("There is no instruction set 'mmx'; this machine can use scalar"))
      << error.message;
}

TEST(CpuDevice, RefusesThreadCountsOutsideTheLimit) {
  EXPECT_EQ(load_error(small_graph(), on_cpu(-1)).message,
            "-1 threads are asked for; the limit is 1024.");
  EXPECT_EQ(load_error(small_graph(), on_cpu(5000)).message,
            "5000 threads are asked for; the limit is 1024.");
}

// Different levels and thread counts in one process: no state may be shared between them.
TEST(CpuDevice, TwoDevicesLiveInOneProcess) {
  const auto weights = small_weights();
  auto one = load_graph(small_graph(), on_cpu(1, "scalar"), &weights);
  auto two = load_graph(small_graph(), on_cpu(3), &weights);
  ASSERT_TRUE(one && two);
  std::mt19937 random(5);
  const Tensor x = random_tensor(DType::kF32, Shape{9, 8}, random);
  const auto a = one->run({{"x", x}});
  const auto b = two->run({{"x", x}});
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(same_result_bits(*a, *b));
  EXPECT_GT(one->device->capacity().total_bytes, 0);
  EXPECT_EQ(one->device->capabilities().num_threads, 1);
  EXPECT_EQ(one->device->capabilities().arch, "scalar");
}

}  // namespace
}  // namespace quern
