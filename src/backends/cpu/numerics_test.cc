// The modes deterministic and fast: results near strict ones, the same for any threads and batch
// (deterministic), and not the strict ones where the level has the instructions.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/float_rows.h"
#include "quern/graph_builder.h"
#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::load_graph;
using test::random_tensor;
using test::same_tensor_bits;
using Inputs = std::map<std::string, Tensor, std::less<>>;

Graph product_graph(DType dtype, int64_t k, int64_t n) {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", {dtype, {Dim::symbolic('T'), Dim::constant(k)}});
  const ValueId y = b.input("y", {dtype, {Dim::constant(k), Dim::constant(n)}});
  b.output("z", b.add("math.matmul", {x, y}));
  return *b.finish();
}

// Whether the kernels of a level multiply and add with one rounding.
bool has_fma(const std::string& isa) {
  return isa.starts_with("avx") || isa.starts_with("neon");
}

Result<Tensor> run_product(const Graph& graph, Numerics numerics, const std::string& isa,
                           int num_threads, const Tensor& x, const Tensor& y) {
  test::LoadOptions options;
  options.device.isa = isa;
  options.device.num_threads = num_threads;
  options.compile.numerics = numerics;
  QUERN_ASSIGN_OR_RETURN(auto loaded, load_graph(graph, options));
  QUERN_ASSIGN_OR_RETURN(const auto result, loaded.run({{"x", x}, {"y", y}}));
  return *result.find("z");
}

// Rows [begin, end) of a matrix of f32.
Tensor rows_of(const Tensor& x, int64_t begin, int64_t end) {
  const auto values = *x.read_as<float>();
  const int64_t n = x.shape()[1];
  return *Tensor::from<float>(
      DType::kF32, Shape{end - begin, n},
      std::vector<float>(values.begin() + begin * n, values.begin() + end * n));
}

// 600 = 2 * 256 + 88 terms: two folds and a short one. Rows 0, 9 and 52 lie in the first tile, in a
// later one and in the last, short one; alone each is in a tile of height one.
TEST(Deterministic, TheBitsDependOnNeitherThreadsNorBatch) {
  constexpr int64_t kK = 600, kN = 77;
  const Graph graph = product_graph(DType::kF32, kK, kN);
  std::mt19937 random(1);
  const Tensor x = random_tensor(DType::kF32, Shape{53, kK}, random);
  const Tensor y = random_tensor(DType::kF32, Shape{kK, kN}, random);
  for (const std::string& isa : test::cpu_isas()) {
    SCOPED_TRACE(isa);
    const auto whole = run_product(graph, Numerics::kDeterministic, isa, 1, x, y);
    ASSERT_TRUE(whole.has_value());
    const auto threaded = run_product(graph, Numerics::kDeterministic, isa, 3, x, y);
    EXPECT_TRUE(same_tensor_bits(*threaded, *whole));
    for (const int64_t row : {0, 9, 52}) {
      const auto one =
          run_product(graph, Numerics::kDeterministic, isa, 1, rows_of(x, row, row + 1), y);
      ASSERT_TRUE(one.has_value());
      EXPECT_TRUE(same_tensor_bits(*one, rows_of(*whole, row, row + 1))) << row;
    }
  }
}

// Values and the sum of absolute products of each element of a product [m, k] x [k, n].
// In f64, whose error is far below the bounds that are tested.
struct ProductSums {
  std::vector<double> exact;
  std::vector<double> absolute;
};
ProductSums sums_of(const std::vector<double>& x, const std::vector<double>& y, int64_t m,
                    int64_t k, int64_t n) {
  ProductSums sums;
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      double exact = 0, absolute = 0;
      // Plain order: the exact sum needs none.
      for (int64_t i = 0; i < k; ++i) {
        const double product =
            x[static_cast<size_t>(row * k + i)] * y[static_cast<size_t>(i * n + column)];
        exact += product;
        absolute += std::abs(product);
      }
      sums.exact.push_back(exact);
      sums.absolute.push_back(absolute);
    }
  }
  return sums;
}

// Elements of any float dtype.
std::vector<double> values_of(const Tensor& tensor) {
  const auto bytes = *tensor.host_view();
  const TensorView view{tensor.dtype(), tensor.shape(), const_cast<std::byte*>(bytes.data())};
  std::vector<double> values(static_cast<size_t>(tensor.shape().num_elements()));
  load_row(view, 0, view.shape.num_elements(), values.data());
  return values;
}

// Rounds floats to the dtype.
Tensor tensor_of(DType dtype, const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = *Tensor::zeros(dtype, shape);
  const auto bytes = *tensor.buffer().mutable_host_view();
  store_row({dtype, shape, bytes.data()}, 0, shape.num_elements(), values.data());
  return tensor;
}

// fast with bf16 has factor 3: its products are exact, but its sums may round at each pair.
// The bounds of docs/numerics.md: `factor` K 2^-bits S, and one ulp of a dtype with `narrow_bits`
// bits of mantissa.
struct Bound {
  DType dtype;
  Numerics numerics;
  double factor;
  int bits;
  int narrow_bits;  // 0: no rounding to a narrow dtype
};
constexpr Bound kBounds[] = {
    {DType::kF32, Numerics::kDeterministic, 2, 24, 0},
    {DType::kF32, Numerics::kFast, 2, 24, 0},
    {DType::kF64, Numerics::kDeterministic, 2, 53, 0},
    {DType::kF64, Numerics::kFast, 2, 53, 0},
    {DType::kF16, Numerics::kDeterministic, 2, 24, 10},
    {DType::kBF16, Numerics::kDeterministic, 2, 24, 7},
    {DType::kF16, Numerics::kFast, 2, 24, 10},
    {DType::kBF16, Numerics::kFast, 3, 24, 7},
};

double allowed(const Bound& bound, int64_t k, double absolute, double value) {
  const double sums =
      bound.factor * static_cast<double>(k) * std::ldexp(1.0, -bound.bits) * absolute;
  const double rounding =
      bound.narrow_bits == 0 ? 0 : std::ldexp(std::abs(value), -bound.narrow_bits);
  // For sums of zeros, whose bound is 0.
  return sums + rounding + 1e-30;
}

TEST(Numerics, ProductsStayWithinTheStatedBounds) {
  std::mt19937 random(2);
  for (const auto& [m, k, n] :
       // One element; whole folds; a short last fold (130, 700, 1,026); rows and columns beside
       // tile borders.
       {std::tuple{1, 1, 1}, {1, 64, 5}, {7, 130, 33}, {30, 700, 40}, {49, 1026, 100}, {3, 5, 7}}) {
    for (const Bound& bound : kBounds) {
      const Graph graph = product_graph(bound.dtype, k, n);
      const Tensor x = random_tensor(bound.dtype, Shape{m, k}, random);
      const Tensor y = random_tensor(bound.dtype, Shape{k, n}, random);
      const ProductSums sums = sums_of(values_of(x), values_of(y), m, k, n);
      const auto strict = run_product(graph, Numerics::kStrict, "", 1, x, y);
      ASSERT_TRUE(strict.has_value());
      const auto expected = values_of(*strict);
      for (const std::string& isa : test::cpu_isas()) {
        for (const int threads : {1, 3}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}x{}x{}", isa, dtype_name(bound.dtype),
                                   numerics_name(bound.numerics), m, k, n));
          const auto made = run_product(graph, bound.numerics, isa, threads, x, y);
          ASSERT_TRUE(made.has_value());
          const auto actual = values_of(*made);
          for (size_t i = 0; i < expected.size(); ++i) {
            ASSERT_LE(std::abs(actual[i] - expected[i]),
                      allowed(bound, k, sums.absolute[i], expected[i]))
                << i;
          }
        }
      }
    }
  }
}

// x [T, k] times weights [n, k], as layers of a model have them.
Graph linear_graph(DType weight, int64_t k, int64_t n) {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", {DType::kF32, {Dim::symbolic('T'), Dim::constant(k)}});
  const ValueId w = b.input("y", {weight, {Dim::constant(n), Dim::constant(k)}});
  b.output("z", b.add("projection.linear", {x, w}));
  return *b.finish();
}

// Columns of a matrix [n, k] as rows of [k, n].
std::vector<double> transposed(const std::vector<double>& y, int64_t n, int64_t k) {
  std::vector<double> out(y.size());
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t i = 0; i < k; ++i) {
      out[static_cast<size_t>(i * n + row)] = y[static_cast<size_t>(row * k + i)];
    }
  }
  return out;
}

bool multiplies_bf16_pairs(DType weight, Numerics numerics, const std::string& isa) {
  return weight == DType::kBF16 && numerics == Numerics::kFast && isa == "avx512-bf16";
}

// Layers: in fast with FMA, or with activations rounded to bf16; in deterministic as in strict.
TEST(Numerics, LinearLayersStayWithinTheStatedBounds) {
  std::mt19937 random(3);
  for (const auto& [m, k, n] : {std::tuple{1, 64, 5},
                                {47, 130, 33},
                                {48, 130, 33},
                                {65, 700, 17},
                                {73, 1026, 50},
                                {50, 33, 16},
                                {50, 1, 3},
                                {49, 2, 100}}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const Graph graph = linear_graph(dtype, k, n);
      const Tensor x = random_tensor(DType::kF32, Shape{m, k}, random);
      const Tensor w = random_tensor(dtype, Shape{n, k}, random);
      const ProductSums sums = sums_of(values_of(x), transposed(values_of(w), n, k), m, k, n);
      const auto strict = run_product(graph, Numerics::kStrict, "", 1, x, w);
      ASSERT_TRUE(strict.has_value());
      const auto expected = values_of(*strict);
      for (const std::string& isa : test::cpu_isas()) {
        SCOPED_TRACE(fmt::format("{} {} {}x{}x{}", isa, dtype_name(dtype), m, k, n));
        const auto deterministic = run_product(graph, Numerics::kDeterministic, isa, 2, x, w);
        ASSERT_TRUE(deterministic.has_value());
        EXPECT_TRUE(same_tensor_bits(*deterministic, *strict));
        const auto one = run_product(graph, Numerics::kFast, isa, 1, x, w);
        const auto three = run_product(graph, Numerics::kFast, isa, 3, x, w);
        ASSERT_TRUE(one && three);
        EXPECT_TRUE(same_tensor_bits(*one, *three));
        const double rounding = multiplies_bf16_pairs(dtype, Numerics::kFast, isa)
                                    ? 0x1p-8 + 3.0 * static_cast<double>(k) * 0x1p-24
                                    : 2.0 * static_cast<double>(k) * 0x1p-24;
        const auto actual = values_of(*one);
        for (size_t i = 0; i < expected.size(); ++i) {
          ASSERT_LE(std::abs(actual[i] - expected[i]), rounding * sums.absolute[i] + 1e-30) << i;
        }
      }
    }
  }
}

// Many tokens of bf16 weights meet the pairs where the level has them, and FMA where it has that.
TEST(Fast, LinearLayersLeaveTheStrictBits) {
  constexpr int64_t kTokens = 60, kK = 700, kN = 40;
  std::mt19937 random(4);
  const Tensor x = random_tensor(DType::kF32, Shape{kTokens, kK}, random);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Graph graph = linear_graph(dtype, kK, kN);
    const Tensor w = random_tensor(dtype, Shape{kN, kK}, random);
    for (const std::string& isa : test::cpu_isas()) {
      SCOPED_TRACE(isa);
      const auto strict = run_product(graph, Numerics::kStrict, isa, 1, x, w);
      const auto fast = run_product(graph, Numerics::kFast, isa, 1, x, w);
      ASSERT_TRUE(strict && fast);
      EXPECT_NE(same_tensor_bits(*fast, *strict), has_fma(isa));
      double largest = 0;
      const auto a = values_of(*fast), b = values_of(*strict);
      for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
      // Activations in bf16 show in the third digit.
      EXPECT_EQ(largest > 1e-3, multiplies_bf16_pairs(dtype, Numerics::kFast, isa)) << largest;
    }
  }
}

// An infinite, a NaN and a huge activation give what strict gives, in tiles of pairs too.
TEST(Fast, LinearLayersSpreadSpecialValues) {
  constexpr int64_t kTokens = 50, kK = 64, kN = 3;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x(kTokens * kK, 1.0f);
  x[7] = kInf;
  x[kK + 3] = -kInf;
  x[kK + 4] = kInf;
  x[2 * kK + 63] = std::nanf("");
  x[3 * kK] = 3e38f;
  const Tensor a = tensor_of(DType::kF32, Shape{kTokens, kK}, x);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Graph graph = linear_graph(dtype, kK, kN);
    const Tensor w = tensor_of(dtype, Shape{kN, kK}, std::vector<float>(kN * kK, 0.5f));
    for (const std::string& isa : test::cpu_isas()) {
      SCOPED_TRACE(isa);
      const auto made = run_product(graph, Numerics::kFast, isa, 2, a, w);
      ASSERT_TRUE(made.has_value());
      const auto z = values_of(*made);
      for (size_t column = 0; column < kN; ++column) {
        EXPECT_EQ(z[column], kInf);
        EXPECT_TRUE(std::isnan(z[kN + column]));
        EXPECT_TRUE(std::isnan(z[2 * kN + column]));
        EXPECT_NEAR(z[3 * kN + column], 1.5e38, 1e36);
        EXPECT_EQ(z[4 * kN + column], 32);
      }
    }
  }
}

// Where large products cancel, only the bound holds: nothing is near the result's own ulp.
// Pairs of terms near +-1e6 leave about a thousand each: the sum is small beside its terms.
TEST(Numerics, CancellationStaysWithinTheStatedBounds) {
  constexpr int64_t kK = 512;
  std::vector<float> x(kK), y(kK);
  std::mt19937 random(12);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < kK; i += 2) {
    x[static_cast<size_t>(i)] = 1e6f * normal(random);
    y[static_cast<size_t>(i)] = normal(random);
    x[static_cast<size_t>(i + 1)] = -x[static_cast<size_t>(i)];
    y[static_cast<size_t>(i + 1)] = y[static_cast<size_t>(i)] + 1e-3f * normal(random);
  }
  const Tensor a = *Tensor::from<float>(DType::kF32, Shape{1, kK}, x);
  const Tensor b = *Tensor::from<float>(DType::kF32, Shape{kK, 1}, y);
  const ProductSums sums = sums_of(values_of(a), values_of(b), 1, kK, 1);
  const Graph graph = product_graph(DType::kF32, kK, 1);
  for (const std::string& isa : test::cpu_isas()) {
    for (const Numerics numerics : {Numerics::kStrict, Numerics::kDeterministic, Numerics::kFast}) {
      const auto made = run_product(graph, numerics, isa, 1, a, b);
      ASSERT_TRUE(made.has_value());
      EXPECT_LE(std::abs(values_of(*made)[0] - sums.exact[0]),
                static_cast<double>(kK) * 0x1p-24 * sums.absolute[0])
          << isa;
    }
  }
}

// Fused products round less: on levels with FMA some bits differ from strict, on others none.
// Proves that the mode does something: without the second half a mode that is strict everywhere
// would pass all the tests above.
TEST(Deterministic, DiffersFromStrictExactlyWhereTheLevelHasFma) {
  constexpr int64_t kK = 700, kN = 40;
  const Graph graph = product_graph(DType::kF32, kK, kN);
  std::mt19937 random(2);
  const Tensor x = random_tensor(DType::kF32, Shape{30, kK}, random);
  const Tensor y = random_tensor(DType::kF32, Shape{kK, kN}, random);
  for (const std::string& isa : test::cpu_isas()) {
    const auto strict = run_product(graph, Numerics::kStrict, isa, 1, x, y);
    const auto fused = run_product(graph, Numerics::kDeterministic, isa, 1, x, y);
    ASSERT_TRUE(strict && fused);
    // sse2 and scalar have no FMA; all others do.
    EXPECT_NE(same_tensor_bits(*fused, *strict), has_fma(isa)) << isa;
  }
}

// relu(x w + b) in one node, and a convolution: the same promise.
Graph fused_graph() {
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", {DType::kF32, {Dim::symbolic('T'), Dim::constant(300)}});
  const ValueId y = b.input("y", {DType::kF32, {Dim::constant(300), Dim::constant(77)}});
  const ValueId bias = b.input("bias", {DType::kF32, {Dim::constant(77)}});
  b.output("z", b.add("fused.matmul", {x, y, bias},
                      {{"program", "math.add(x0, x1); activation.relu(v0)"}}));
  return *b.finish();
}
Graph convolution_graph() {
  GraphBuilder b(builtin_ops());
  const auto fixed = [](std::initializer_list<int64_t> dims) {
    TensorType type{DType::kF32, {}};
    for (const int64_t dim : dims) type.dims.push_back(Dim::constant(dim));
    return type;
  };
  // 33 * 9 = 297 terms: more than one fold.
  const ValueId x = b.input("x", fixed({2, 33, 9, 11})), w = b.input("w", fixed({26, 33, 3, 3}));
  b.output("z", b.add("convolution.conv2d", {x, w},
                      {{"kernel_h", int64_t{3}}, {"kernel_w", int64_t{3}}, {"pad_h", int64_t{1}}}));
  return *b.finish();
}

Result<Tensor> run_graph(const Graph& graph, Numerics numerics, const std::string& isa,
                         int num_threads, const Inputs& inputs) {
  test::LoadOptions options;
  options.device = {.num_threads = num_threads, .isa = isa};
  options.compile.numerics = numerics;
  QUERN_ASSIGN_OR_RETURN(auto loaded, load_graph(graph, options));
  QUERN_ASSIGN_OR_RETURN(const auto result, loaded.run(inputs));
  return *result.find("z");
}

TEST(Deterministic, FusedProductsAndConvolutionsDoNotDependOnThreads) {
  std::mt19937 random(7);
  const Inputs product = {
      {"x", random_tensor(DType::kF32, Shape{61, 300}, random)},
      {"y", random_tensor(DType::kF32, Shape{300, 77}, random)},
      {"bias", random_tensor(DType::kF32, Shape{77}, random)},
  };
  const Inputs convolution = {
      {"x", random_tensor(DType::kF32, Shape{2, 33, 9, 11}, random)},
      {"w", random_tensor(DType::kF32, Shape{26, 33, 3, 3}, random)},
  };
  for (const auto& [graph, inputs] :
       {std::pair{fused_graph(), product}, std::pair{convolution_graph(), convolution}}) {
    for (const std::string& isa : test::cpu_isas()) {
      SCOPED_TRACE(isa);
      const auto strict = run_graph(graph, Numerics::kStrict, isa, 1, inputs);
      const auto one = run_graph(graph, Numerics::kDeterministic, isa, 1, inputs);
      const auto two = run_graph(graph, Numerics::kDeterministic, isa, 2, inputs);
      const auto three = run_graph(graph, Numerics::kDeterministic, isa, 3, inputs);
      ASSERT_TRUE(strict && one && two && three);
      EXPECT_TRUE(same_tensor_bits(*two, *one));
      EXPECT_TRUE(same_tensor_bits(*three, *one));
      EXPECT_NE(same_tensor_bits(*one, *strict), has_fma(isa));
      const auto a = values_of(*one), b = values_of(*strict);
      // 300 terms of size about 1: far above the rounding, far below a wrong term.
      for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4);
    }
  }
}

// NaN and infinities of operands come out where strict has them.
// Row 0 meets +inf, row 1 -inf + inf, row 2 NaN, row 3 nothing: 40 * 0.5 = 20.
TEST(Numerics, SpecialValuesSpreadAlike) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Graph graph = product_graph(dtype, 40, 3);
    std::vector<float> x(4 * 40, 1.0f), y(40 * 3, 0.5f);
    x[7] = kInf;                 // row 0
    x[40 + 3] = -kInf;           // row 1
    x[40 + 4] = kInf;            // and -inf + inf
    x[80 + 39] = std::nanf("");  // row 2
    const Tensor a = tensor_of(dtype, Shape{4, 40}, x), b = tensor_of(dtype, Shape{40, 3}, y);
    for (const std::string& isa : test::cpu_isas()) {
      for (const Numerics numerics : {Numerics::kDeterministic, Numerics::kFast}) {
        const auto made = run_product(graph, numerics, isa, 2, a, b);
        ASSERT_TRUE(made.has_value());
        const auto z = values_of(*made);
        for (size_t column = 0; column < 3; ++column) {
          EXPECT_EQ(z[column], kInf) << isa;
          EXPECT_TRUE(std::isnan(z[3 + column])) << isa;
          EXPECT_TRUE(std::isnan(z[6 + column])) << isa;
          EXPECT_EQ(z[9 + column], 20) << isa;
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern
