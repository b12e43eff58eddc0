// Products with packed weights: GB/s of weights, Gop/s of integer or float products, and their
// share of what the machine can do, probed before each case. The result of one row of tokens is
// compared with the reference first.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <cstring>
#include <random>
#include <string>

#include "backends/cpu/kernels/activation_packing.h"
#include "backends/cpu/kernels/linear.h"
#include "machine_roof.h"
#include "ops/integer_dot.h"
#include "ops/quant_dynamic.h"
#include "quern/tensor.h"
#include "tensor/block_format.h"

namespace quern::cpu::bench {
namespace {

// One bar of the report: y [tokens, rows] = x [tokens, columns] times a weight [rows, columns].
struct Case {
  DType dtype;
  ActivationKind kind;
  int64_t tokens;
  int64_t rows;
  int64_t columns;
};

std::string_view kind_name(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kF32:
      return "f32";
    case ActivationKind::kF64:
      return "f64";
    case ActivationKind::kInt8:
      return "int8";
    case ActivationKind::kInt16:
      return "int16";
  }
  return "?";
}

// Random bytes; f16 scales keep to a middle exponent where the format has them at an even place.
Tensor random_weight(const Case& c, std::mt19937_64& random) {
  Tensor weight = *Tensor::zeros(c.dtype, {c.rows, c.columns});
  const auto bytes = *weight.buffer().mutable_host_view();
  const BlockFormat* format = find_block_format(c.dtype);
  if (format == nullptr) {
    auto* floats = reinterpret_cast<float*>(bytes.data());
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < c.rows * c.columns; ++i) floats[i] = normal(random);
    return weight;
  }
  // Random bytes make scales that are NaN or huge in some formats; such blocks are drawn again.
  // A thousand good blocks, repeated.
  std::vector<std::byte> blocks;
  DecodedBlock decoded;
  std::vector<std::byte> block(static_cast<size_t>(format->block_bytes));
  while (blocks.size() < 1000 * block.size()) {
    for (std::byte& b : block) b = static_cast<std::byte>(random());
    format->decode(block.data(), decoded);
    const bool has_min = format->kind == BlockFormat::Kind::kScaleMin ||
                         format->kind == BlockFormat::Kind::kSuperScaleMin;
    // Products of such scales neither overflow nor become denormal, which are slow on some
    // processors.
    const auto is_moderate = [](float v) { return std::abs(v) > 1e-3f && std::abs(v) < 1.0f; };
    if (is_moderate(decoded.scale[0]) && (!has_min || is_moderate(decoded.minimum)))
      blocks.insert(blocks.end(), block.begin(), block.end());
  }
  for (size_t i = 0; i < bytes.size(); i += blocks.size()) {
    std::copy_n(blocks.begin(), std::min(blocks.size(), bytes.size() - i), bytes.data() + i);
  }
  return weight;
}

// Everything a call needs.
// Packed once in the constructor, as a model is at load.
class Product {
 public:
  Product(const Case& c, const KernelTable& kernels, ThreadPool& pool)
      : case_(c), kernels_(kernels), pool_(pool) {
    std::mt19937_64 random(1);
    weight_ = random_weight(c, random);
    packed_ = *pack_weight(weight_, c.kind, kernels, pool);
    std::normal_distribution<float> normal;
    x_.resize(static_cast<size_t>(c.tokens * c.columns));
    for (float& v : x_) v = normal(random);
    y_.resize(static_cast<size_t>(c.tokens * c.rows));
    const int threads = pool.num_threads();
    scratch_ = *Buffer::allocate_host(linear_scratch_bytes(packed_, kernels, c.tokens, threads));
    if (is_integer()) {
      layout_ = make_activation_layout(c.tokens, c.columns, packed_.activation_block(), bits());
      activations_ = *Buffer::allocate_host(layout_.size_bytes);
    }
  }

  bool is_integer() const {
    return case_.kind == ActivationKind::kInt8 || case_.kind == ActivationKind::kInt16;
  }
  int bits() const { return case_.kind == ActivationKind::kInt16 ? 16 : 8; }
  int64_t weight_bytes() const { return packed_.size_bytes(); }

  // A step of its own, since Q, K and V share one.
  void quantize() {
    if (!is_integer()) return;
    pack_activations(layout_, kernels_, x_.data(), activations_.mutable_host_view()->data(), pool_);
  }
  void run() {
    linear({.weight = &packed_,
            .num_tokens = case_.tokens,
            .x = x_.data(),
            .packed_x = is_integer() ? activations_.host_view()->data() : nullptr,
            .y = y_.data(),
            .scratch = scratch_.mutable_host_view()->data()},
           kernels_, pool_);
  }

  // 33 rows cross two panels of 16; the last token lies in the last, short tile.
  // Compares the last token's first rows with the reference.
  bool is_right() {
    quantize();
    run();
    const int64_t k = case_.columns;
    const float* x = x_.data() + (case_.tokens - 1) * k;
    const float* y = y_.data() + (case_.tokens - 1) * case_.rows;
    for (int64_t row = 0; row < std::min<int64_t>(case_.rows, 33); ++row) {
      const float expected = is_integer() ? integer_reference(row, x) : float_reference(row, x);
      if (std::memcmp(&expected, y + row, sizeof(float)) != 0) return false;
    }
    return true;
  }

 private:
  const std::byte* weight_row(int64_t row) const {
    const DTypeInfo& info = dtype_info(case_.dtype);
    return weight_.host_view()->data() + row * (case_.columns / info.block_size) * info.block_bytes;
  }
  // The definition: folds of 256 in order, no fused operations.
  float float_reference(int64_t row, const float* x) const {
    std::vector<float> w(static_cast<size_t>(case_.columns));
    dequantize_row(case_.dtype, weight_row(row), w.data(), case_.columns);
    float total = 0;
    for (size_t begin = 0; begin < w.size(); begin += 256) {
      float block = 0;
      for (size_t k = begin; k < std::min(begin + 256, w.size()); ++k) block = block + x[k] * w[k];
      total = total + block;
    }
    return total;
  }
  float integer_reference(int64_t row, const float* x) const {
    const BlockFormat& format = *find_block_format(case_.dtype);
    const auto n = static_cast<size_t>(case_.columns);
    std::vector<int32_t> q(n);
    std::vector<float> d(n / static_cast<size_t>(format.activation_block));
    quantize_dynamic({x, n}, format.activation_block, static_cast<int32_t>(dynamic_limit(bits())),
                     q, d);
    DecodedRow weight(format);
    weight.decode(weight_row(row), case_.columns);
    ActivationRow activations;
    activations.assign(std::span<const int32_t>(q), static_cast<int32_t>(dynamic_limit(bits())), d);
    return integer_dot(weight, activations);
  }

  Case case_;
  const KernelTable& kernels_;
  ThreadPool& pool_;
  Tensor weight_;
  PackedWeight packed_;
  ActivationLayout layout_;
  Buffer activations_;
  Buffer scratch_;
  std::vector<float> x_;
  std::vector<float> y_;
};

void report(benchmark::State& state, const Case& c, const Product& product, MachineRoof& roof) {
  const bool is_integer = product.is_integer();
  // 16-bit activations are two planes of int8: twice the products.
  const double planes = c.kind == ActivationKind::kInt16 ? 2 : 1;
  const double products = static_cast<double>(c.tokens * c.rows * c.columns) * planes;
  const auto bytes = static_cast<double>(product.weight_bytes());
  const double limit = is_integer ? roof.products_per_second() : roof.multiply_adds_per_second();
  const double read = roof.bytes_per_second();
  using benchmark::Counter;
  // An operation is a multiplication or an addition.
  state.counters["Gop/s"] = Counter(2e-9 * products, Counter::kIsIterationInvariantRate);
  state.counters["of_peak"] = Counter(products / limit, Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] = Counter(1e-9 * bytes, Counter::kIsIterationInvariantRate);
  state.counters["of_read"] = Counter(bytes / read, Counter::kIsIterationInvariantRate);
}

void run_case(benchmark::State& state, const Case& c, const KernelTable& kernels, int threads) {
  ThreadPool pool(threads);
  Product product(c, kernels, pool);
  if (!product.is_right()) return state.SkipWithError("The result differs from the reference.");
  MachineRoof roof(kernels, pool);
  for (auto _ : state) product.run();
  report(state, c, product, roof);
}

void run_quantize(benchmark::State& state, const Case& c, const KernelTable& kernels, int threads) {
  ThreadPool pool(threads);
  Product product(c, kernels, pool);
  for (auto _ : state) product.quantize();
  state.SetItemsProcessed(state.iterations() * c.tokens * c.columns);
}

void register_case(const Case& c, const KernelTable& kernels, int threads) {
  const std::string name =
      fmt::format("linear/{}/{}/{}/tokens:{}/rows:{}/columns:{}/threads:{}", isa_name(kernels.isa),
                  dtype_name(c.dtype), kind_name(c.kind), c.tokens, c.rows, c.columns, threads);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=, &kernels](benchmark::State& state) { run_case(state, c, kernels, threads); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

// 1 and 4 tokens are decoding, where memory is the limit; 512 is prefill, where arithmetic is.
void register_all(const KernelTable& kernels, int threads) {
  const DType formats[] = {DType::kQ8_0,  DType::kQ4_0,  DType::kQ4_1,   DType::kQ5_0,
                           DType::kQ5_1,  DType::kQ2_K,  DType::kQ3_K,   DType::kQ4_K,
                           DType::kQ5_K,  DType::kQ6_K,  DType::kIQ4_NL, DType::kIQ4_XS,
                           DType::kMXFP4, DType::kIQ2_XS};
  for (const DType dtype : formats) {
    for (const ActivationKind kind : {ActivationKind::kInt8, ActivationKind::kInt16}) {
      // More weights than caches hold, as decoding a large model.
      register_case({dtype, kind, 1, 32768, 2048}, kernels, threads);
      register_case({dtype, kind, 4, 32768, 2048}, kernels, threads);
      register_case({dtype, kind, 512, 2048, 2048}, kernels, threads);
    }
  }
  for (const int64_t tokens : {1, 4, 512}) {
    register_case({DType::kF32, ActivationKind::kF32, tokens, 2048, 2048}, kernels, threads);
    register_case({DType::kQ4_1, ActivationKind::kF32, tokens, 2048, 2048}, kernels, threads);
  }
  for (const auto& [tokens, bits] : {std::pair{1, 8}, {1, 16}, {512, 8}, {512, 16}}) {
    const Case c{DType::kQ8_0, bits == 8 ? ActivationKind::kInt8 : ActivationKind::kInt16, tokens,
                 16, 2048};
    const std::string name = fmt::format("quantize/{}/bits:{}/tokens:{}/columns:2048/threads:{}",
                                         isa_name(kernels.isa), bits, tokens, threads);
    benchmark::RegisterBenchmark(
        name.c_str(),
        [=, &kernels](benchmark::State& state) { run_quantize(state, c, kernels, threads); })
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace quern::cpu::bench

// Flags of Google Benchmark; the first other argument caps the instruction set.
int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::optional<quern::cpu::Isa> cap;
  if (argc > 1) cap = quern::cpu::find_isa(argv[1]);
  const auto& kernels = quern::cpu::best_kernel_table(quern::detect_cpu_features(), cap);
  for (const int threads : {1, quern::available_cpus()}) {
    quern::cpu::bench::register_all(kernels, threads);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
