// Operations other than products, as one-node graphs on the cpu backend: bytes of memory traffic a
// second, and for attention multiply-adds a second. Each result is compared with the reference
// backend before it is timed.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <random>
#include <string>

#include "base/thread_pool.h"
#include "quern/device.h"
#include "quern/graph_builder.h"

namespace quern::bench {
namespace {

using Inputs = std::map<std::string, Tensor, std::less<>>;

Tensor random_f32(const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = normal(random);
  return *Tensor::from<float>(DType::kF32, shape, values);
}

Tensor indices(const std::vector<int32_t>& values) {
  return *Tensor::from<int32_t>(DType::kI32, Shape{static_cast<int64_t>(values.size())}, values);
}

// A graph on a device with the store of its state, if it has one.
// Takes success for granted: graphs and backends here are the bench's own.
struct Session {
  std::unique_ptr<Device> device;
  std::unique_ptr<KvStore> store;
  std::unique_ptr<Executable> executable;

  Session(const Graph& graph, std::string_view backend_name, const DeviceOptions& options) {
    const BackendRegistry registry = register_backends();
    const Backend* backend = *registry.find(backend_name);
    device = *backend->open(options);
    if (!graph.states().empty()) {
      store = *device->make_kv_store(graph.states()[0]);
      (void)store->create_sequence();
    }
    const auto artifact = *backend->compile(graph, {});
    executable = *device->load(*artifact, nullptr, {});
  }

  Result<RunResult> run(const Inputs& inputs) {
    RunArguments arguments{.inputs = inputs, .states = {}};
    if (store) arguments.states.emplace("kv", store.get());
    return executable->run(arguments);
  }
  // Rows of a run become part of the sequence.
  void reserve(int64_t rows) { (void)store->reserve(0, rows); }
  void commit(int64_t rows) { (void)store->commit(0, rows); }
};

// Bits, as everything here runs under strict.
bool has_same_bytes(const RunResult& a, const RunResult& b) {
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (*a.values[i].second.read() != *b.values[i].second.read()) return false;
  }
  return a.values.size() == b.values.size();
}

// Times runs of `inputs`; `bytes` is the memory traffic of one.
// The check costs a run on the slow reference, once per case.
void time_graph(benchmark::State& state, const Graph& graph, const Inputs& inputs, int64_t bytes,
                int threads) {
  Session cpu(graph, "cpu", {.num_threads = threads, .isa = {}});
  Session reference(graph, "reference", {});
  const auto actual = cpu.run(inputs), expected = reference.run(inputs);
  if (!actual || !expected || !has_same_bytes(*actual, *expected)) {
    return state.SkipWithError("The result differs from the reference.");
  }
  for (auto _ : state) benchmark::DoNotOptimize(cpu.run(inputs));
  state.SetBytesProcessed(state.iterations() * bytes);
}

// One operation on `operands` tensors [rows, columns].
Graph op_graph(std::string_view op, int operands, const Attributes& attributes,
               const Shape& shape) {
  GraphBuilder b(builtin_ops());
  std::vector<ValueId> values;
  for (int i = 0; i < operands; ++i) {
    values.push_back(b.input(fmt::format("{}", i),
                             {DType::kF32, {Dim::constant(shape[0]), Dim::constant(shape[1])}}));
  }
  b.output("y", b.add(op, values, attributes));
  return *b.finish();
}

void register_op(const std::string& op, int operands, const Shape& shape, int threads,
                 const Attributes& attributes = {}) {
  const std::string name = fmt::format("{}/{}/threads:{}", op, shape.to_string(), threads);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State& state) {
        Inputs inputs;
        for (int i = 0; i < operands; ++i) {
          inputs[fmt::format("{}", i)] = random_f32(shape, static_cast<uint32_t>(i));
        }
        // Each operand read and the result written once.
        const int64_t bytes = (operands + 1) * shape.num_elements() * 4;
        time_graph(state, op_graph(op, operands, attributes, shape), inputs, bytes, threads);
      })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

struct Attention {
  int64_t tokens;
  int64_t context;  // keys before the tokens
  int64_t kv_heads;
  int64_t group;
  int64_t dim;
  std::string type;
};

Graph attention_graph(const Attention& a) {
  GraphBuilder b(builtin_ops());
  b.state({"kv",
           "kv",
           {{"layers", int64_t{1}},
            {"heads", a.kv_heads},
            {"key_dim", a.dim},
            {"value_dim", a.dim},
            {"key_type", a.type},
            {"value_type", a.type}}});
  const Dim tokens = Dim::symbolic('T');
  const auto rows = [&](int64_t heads) {
    return TensorType{DType::kF32, {tokens, Dim::constant(heads), Dim::constant(a.dim)}};
  };
  const ValueId q = b.input("q", rows(a.kv_heads * a.group));
  const ValueId k = b.input("k", rows(a.kv_heads)), v = b.input("v", rows(a.kv_heads));
  const ValueId positions = b.input("positions", {DType::kI32, {tokens}});
  const ValueId sequences = b.input("sequences", {DType::kI32, {tokens}});
  b.add("kv.append", {k, v, positions, sequences}, {{"layer", int64_t{0}}});
  b.output("out", b.add("attention.cached", {q, positions, sequences}, {{"layer", int64_t{0}}}));
  return *b.finish();
}

Inputs attention_inputs(const Attention& a, int64_t first, int64_t tokens) {
  std::vector<int32_t> positions;
  for (int64_t t = 0; t < tokens; ++t) positions.push_back(static_cast<int32_t>(first + t));
  return {{"q", random_f32({tokens, a.kv_heads * a.group, a.dim}, 1)},
          {"k", random_f32({tokens, a.kv_heads, a.dim}, 2)},
          {"v", random_f32({tokens, a.kv_heads, a.dim}, 3)},
          {"positions", indices(positions)},
          {"sequences", indices(std::vector<int32_t>(static_cast<size_t>(tokens), 0))}};
}

void run_attention(benchmark::State& state, const Attention& a, int threads) {
  const Graph graph = attention_graph(a);
  Session cpu(graph, "cpu", {.num_threads = threads, .isa = {}});
  Session reference(graph, "reference", {});
  const Inputs inputs = attention_inputs(a, a.context, a.tokens);
  for (Session* session : {&cpu, &reference}) {
    if (a.context > 0) {
      session->reserve(a.context);
      (void)session->run(attention_inputs(a, 0, a.context));
      session->commit(a.context);
    }
    session->reserve(a.tokens);
  }
  const auto actual = cpu.run(inputs), expected = reference.run(inputs);
  if (!actual || !expected || !has_same_bytes(*actual, *expected)) {
    return state.SkipWithError("The result differs from the reference.");
  }
  for (auto _ : state) benchmark::DoNotOptimize(cpu.run(inputs));
  const int64_t keys = a.tokens * a.context + a.tokens * (a.tokens + 1) / 2;
  const auto products = static_cast<double>(2 * keys * a.dim * a.kv_heads * a.group);
  state.counters["Gop/s"] =
      benchmark::Counter(2e-9 * products, benchmark::Counter::kIsIterationInvariantRate);
}

void register_attention(const Attention& a, int threads) {
  const std::string name =
      fmt::format("attention.cached/{}/tokens:{}/context:{}/heads:{}x{}/dim:{}/threads:{}", a.type,
                  a.tokens, a.context, a.kv_heads, a.group, a.dim, threads);
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { run_attention(state, a, threads); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void register_all(int threads) {
  for (const Shape& shape : {Shape{1, 576}, Shape{512, 576}, Shape{4096, 1024}}) {
    register_op("math.softmax", 1, shape, threads);
    register_op("math.rmsnorm", 1, shape, threads);
    register_op("math.layernorm", 1, shape, threads);
    register_op("math.add", 2, shape, threads);
    register_op("activation.swiglu_tensors", 2, shape, threads);
    register_op("activation.gelu", 1, shape, threads);
    register_op("reduction.argmax", 1, shape, threads);
  }
  for (const char* type : {"f32", "f16", "q8_0", "q4_0"}) {
    register_attention({512, 0, 3, 3, 64, type}, threads);  // the shape of SmolLM2-135M
    register_attention({1, 1000, 3, 3, 64, type}, threads);
  }
}

}  // namespace
}  // namespace quern::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const int threads : {1, quern::available_cpus()}) quern::bench::register_all(threads);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
