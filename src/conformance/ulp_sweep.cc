// Batches of bit patterns through a device, compared on all threads.
#include "conformance/ulp_sweep.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "conformance/one_op.h"
#include "ops/math/ulp_error.h"

namespace quern {
namespace {

// Patterns of one run, patterns of one task, all patterns of f32.
// 4 MiB of inputs: a run then costs far more than its start.
constexpr int64_t kBatch = int64_t{1} << 20;
constexpr int64_t kChunk = int64_t{1} << 14;
constexpr uint64_t kNumPatterns = uint64_t{1} << 32;

// The host's functions have errors below one ulp of f64, 2^-29 ulp of f32.
constexpr std::array kFunctions = {
    UlpFunction{"exp", "math.exp", [](double x) { return std::exp(x); }},
    UlpFunction{"log", "math.log", [](double x) { return std::log(x); }},
    UlpFunction{"tanh", "activation.tanh", [](double x) { return std::tanh(x); }},
    UlpFunction{"sigmoid", "activation.sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    UlpFunction{"erf", "math.erf", [](double x) { return std::erf(x); }},
    UlpFunction{"sin", "math.sin", [](double x) { return std::sin(x); }},
    UlpFunction{"cos", "math.cos", [](double x) { return std::cos(x); }},
    UlpFunction{"log1p", "activation.log1p", [](double x) { return std::log1p(x); }},
    UlpFunction{"expm1", "activation.expm1", [](double x) { return std::expm1(x); }},
    UlpFunction{"sqrt", "elementwise.sqrt", [](double x) { return std::sqrt(x); }},
};

// Keeps the larger error and adds the counts.
void merge(UlpWorst& worst, const UlpWorst& other) {
  const uint64_t num_inputs = worst.num_inputs + other.num_inputs;
  if (other.ulp > worst.ulp) worst = other;
  worst.num_inputs = num_inputs;
}

// Equal bits, or NaN both times.
bool is_same(float a, float b) {
  return (a != a && b != b) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// Updates the worst error by one batch.
void compare(const UlpFunction& function, std::span<const float> x, std::span<const float> y,
             UlpWorst& worst) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = function.exact(static_cast<double>(x[i]));
    // The nearest float is at most half an ulp off: nothing to learn once that was seen.
    // Most results are correctly rounded, and ulp_error() is slow beside this comparison.
    if (worst.ulp >= 0.5 && is_same(y[i], static_cast<float>(exact))) continue;
    const double ulp = ulp_error(y[i], exact);
    if (ulp > worst.ulp) worst = {ulp, x[i], y[i], exact, worst.num_inputs};
  }
  worst.num_inputs += x.size();
}

// Compares on all threads of the pool.
UlpWorst compare_batch(const UlpFunction& function, std::span<const float> x,
                       std::span<const float> y, ThreadPool& pool, double known_ulp) {
  std::vector<UlpWorst> worst(static_cast<size_t>(pool.num_threads()));
  for (UlpWorst& w : worst) w.ulp = known_ulp;  // smaller errors change nothing
  const auto n = static_cast<int64_t>(x.size());
  pool.run((n + kChunk - 1) / kChunk, [&](int64_t chunk, int thread) {
    const auto first = static_cast<size_t>(chunk * kChunk);
    const size_t count = std::min(static_cast<size_t>(kChunk), x.size() - first);
    compare(function, x.subspan(first, count), y.subspan(first, count),
            worst[static_cast<size_t>(thread)]);
  });
  UlpWorst all;
  for (const UlpWorst& w : worst) merge(all, w);
  return all;
}

}  // namespace

// The functions that can be swept; each is an operation of one f32 input.
std::span<const UlpFunction> ulp_functions() {
  return kFunctions;
}

// By its short name or the operation's id; null if there is none.
const UlpFunction* find_ulp_function(std::string_view name) {
  const auto* found = std::ranges::find_if(
      kFunctions, [&](const UlpFunction& f) { return f.name == name || f.op == name; });
  return found == kFunctions.end() ? nullptr : found;
}

// Every `stride`-th pattern of f32, in order. The device computes, the host judges.
Result<UlpWorst> sweep_ulp(const UlpFunction& function, const Backend& backend, Device& device,
                           uint32_t stride, const UlpProgress& progress) {
  const uint64_t total = (kNumPatterns + stride - 1) / stride;
  const Shape shape{static_cast<int64_t>(std::min<uint64_t>(total, kBatch))};
  QUERN_ASSIGN_OR_RETURN(const Tensor input, Tensor::zeros(DType::kF32, shape));
  const std::array inputs = {input};
  QUERN_ASSIGN_OR_RETURN(const Graph graph, one_op_graph(builtin_ops(), function.op, inputs, {}));
  for (const Node& node : graph.nodes()) QUERN_TRY(backend.legal(graph, node));
  QUERN_ASSIGN_OR_RETURN(const auto artifact, backend.compile(graph, {}));
  QUERN_ASSIGN_OR_RETURN(const auto executable, device.load(*artifact, nullptr, {}));
  Buffer memory = input.buffer();
  QUERN_ASSIGN_OR_RETURN(const auto bytes, memory.mutable_host_view());
  const std::span x(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float));
  ThreadPool pool(available_cpus());
  UlpWorst worst;
  for (uint64_t first = 0; first < total; first += x.size()) {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(x.size(), total - first));
    for (size_t i = 0; i < count; ++i) {
      x[i] = std::bit_cast<float>(static_cast<uint32_t>((first + i) * stride));
    }
    QUERN_ASSIGN_OR_RETURN(const RunResult result, executable->run(one_op_arguments(inputs)));
    QUERN_ASSIGN_OR_RETURN(const auto y, result.values[0].second.read_as<float>());
    merge(worst,
          compare_batch(function, x.first(count), std::span(y).first(count), pool, worst.ulp));
    if (progress) progress(static_cast<int64_t>(first + count), static_cast<int64_t>(total));
  }
  return worst;
}

}  // namespace quern
