// Products with float weights, and of two float matrices, have the reference's bits at every level.
#include "backends/cpu/kernels/product_test_support.h"

namespace quern::cpu::test {
namespace {

// Around tiles of 4, 8, 16 and 24 rows; rows around panels of 16 and 32; columns around the fold of
// 256.
constexpr int64_t kTokens[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 24, 25, 33, 64};
constexpr int64_t kRows[] = {1, 15, 16, 17, 31, 32, 33, 48, 100};
constexpr int64_t kColumns[] = {1, 7, 255, 256, 257, 576};

// Weights of a float type from random floats, rounded once.
Tensor random_weight(DType dtype, int64_t rows, int64_t columns, Random& random) {
  const auto values = random_floats(rows * columns, random);
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(dtype_info(dtype).block_bytes));
  if (dtype == DType::kF64) {
    std::vector<double> wide(values.begin(), values.end());
    // Low bits that only a double has: a kernel that narrows to f32 on the way fails.
    for (double& v : wide) v += v * 0x1p-40 * static_cast<double>(random() % 1000);
    std::copy_n(reinterpret_cast<const std::byte*>(wide.data()), bytes.size(), bytes.data());
  } else {
    narrow_row(dtype, values.data(), bytes.data(), rows * columns);
  }
  auto weight = Tensor::from_bytes(dtype, {rows, columns}, bytes);
  return weight ? std::move(*weight) : Tensor();
}

Tensor random_doubles(int64_t rows, int64_t columns, Random& random) {
  std::vector<double> x;
  for (const float v : random_floats(rows * columns, random)) {
    x.push_back(static_cast<double>(v) * (1 + 0x1p-30 * static_cast<double>(random() % 100)));
  }
  return quern::test::f64({rows, columns}, x);
}

class LinearFloats : public testing::TestWithParam<DType> {};

TEST_P(LinearFloats, HaveTheReferencesBits) {
  Random random(static_cast<uint64_t>(GetParam()) + 1);
  size_t i = 0;
  // Each number of tokens meets several rows and columns, and each pair of those all tokens.
  for (const int64_t tokens : kTokens) {
    for (const int64_t columns : kColumns) {
      const int64_t rows = kRows[i++ % std::size(kRows)];
      Product p;
      p.x = quern::test::f32({tokens, columns}, random_floats(tokens * columns, random));
      p.weight = random_weight(GetParam(), rows, columns, random);
      if (i % 3 == 0) p.bias = quern::test::f32({rows}, random_floats(rows, random));
      if (i % 4 == 0) p.scale = 0.7;
      expect_product_everywhere(p, quern::test::values_of<float>(reference(p)),
                                p.x.shape().to_string() + " " + p.weight.shape().to_string());
      if (HasFailure()) return;
    }
  }
}

// Numbers of tokens around where products change to tiles, with every kind of last tile.
TEST_P(LinearFloats, ManyTokensHaveTheReferencesBits) {
  Random random(static_cast<uint64_t>(GetParam()) + 21);
  constexpr int64_t kMany[] = {47, 48, 49, 53, 56, 57, 63, 65, 72, 73, 95, 97, 130};
  size_t i = 0;
  for (const int64_t tokens : kMany) {
    for (const int64_t columns : {int64_t{1}, int64_t{256}, int64_t{257}, int64_t{600}}) {
      const int64_t rows = kRows[i++ % std::size(kRows)];
      Product p;
      p.x = quern::test::f32({tokens, columns}, hard_floats(tokens, columns, random));
      p.weight = random_weight(GetParam(), rows, columns, random);
      if (i % 3 == 0) p.bias = quern::test::f32({rows}, random_floats(rows, random));
      if (i % 4 == 0) p.scale = -0.7;
      expect_product_everywhere(p, quern::test::values_of<float>(reference(p)),
                                p.x.shape().to_string() + " " + p.weight.shape().to_string());
      if (HasFailure()) return;
    }
  }
}

TEST_P(LinearFloats, HaveTheReferencesBitsForHardActivations) {
  Random random(static_cast<uint64_t>(GetParam()) + 11);
  Product p;
  p.x = quern::test::f32({30, 600}, hard_floats(30, 600, random));
  p.weight = random_weight(GetParam(), 70, 600, random);
  expect_product_everywhere(p, quern::test::values_of<float>(reference(p)), "hard activations");
}

INSTANTIATE_TEST_SUITE_P(AllFloats, LinearFloats,
                         testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3,
                                         DType::kF8E5M2),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

TEST(LinearDoubles, HaveTheReferencesBits) {
  Random random(5);
  size_t i = 0;
  for (const int64_t tokens : kTokens) {
    for (const int64_t columns : kColumns) {
      const int64_t rows = kRows[i++ % std::size(kRows)];
      Product p;
      p.kind = ActivationKind::kF64;
      p.x = random_doubles(tokens, columns, random);
      p.weight = random_weight(i % 3 == 0 ? DType::kF32 : DType::kF64, rows, columns, random);
      expect_product_everywhere<double>(
          p, quern::test::values_of<double>(reference(p)),
          p.x.shape().to_string() + " " + p.weight.shape().to_string());
      if (HasFailure()) return;
    }
  }
}

// All bit patterns of f16 and bf16 as weights: NaN, infinities and denormals widen exactly, for one
// token and for tiles.
TEST(LinearFloats, EveryNarrowCodeWidensExactly) {
  std::vector<uint16_t> codes(65536);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const int64_t tokens : {1, 48}) {
      Product p;
      p.x = quern::test::f32({tokens, 1}, std::vector<float>(static_cast<size_t>(tokens), 1.0f));
      p.weight = quern::test::tensor_of(dtype, {65536, 1}, codes);
      expect_product_everywhere(p, quern::test::values_of<float>(reference(p)), "all codes");
    }
  }
}

template <class T>
void expect_matmul_everywhere(const Tensor& a, const Tensor& b) {
  const auto expected = quern::test::values_of<T>(quern::test::run_one("math.matmul", {a, b}));
  for (const KernelTable& kernels : kernel_tables()) {
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      // A value that no sum gives by accident: unwritten elements show.
      std::vector<T> c(static_cast<size_t>(a.shape()[0] * b.shape()[1]), T(-77));
      MatmulCall<T> call{.m = a.shape()[0],
                         .k = a.shape()[1],
                         .n = b.shape()[1],
                         .a = reinterpret_cast<const T*>(a.host_view()->data()),
                         .b = reinterpret_cast<const T*>(b.host_view()->data()),
                         .c = c.data()};
      Buffer scratch = dirty_memory(
          matmul_scratch_bytes<T>(kernels, {call.m, call.k, call.n}, pool.num_threads()));
      call.scratch = scratch.mutable_host_view()->data();
      matmul(call, kernels, pool);
      EXPECT_TRUE(all_same_bits(c, expected))
          << isa_name(kernels.isa) << ", " << threads << " threads, " << a.shape().to_string()
          << " x " << b.shape().to_string();
    }
  }
}

TEST(Matmul, HasTheReferencesBits) {
  Random random(9);
  size_t i = 0;
  for (const int64_t m : kTokens) {
    for (const int64_t k : kColumns) {
      const int64_t n = kRows[i++ % std::size(kRows)];
      expect_matmul_everywhere<float>(quern::test::f32({m, k}, hard_floats(m, k, random)),
                                      quern::test::f32({k, n}, random_floats(k * n, random)));
      expect_matmul_everywhere<double>(random_doubles(m, k, random), random_doubles(k, n, random));
      if (HasFailure()) return;
    }
  }
}

// One case for each reason; the texts name dtype and kind.
TEST(PackWeight, RefusesWhatNoKernelMultiplies) {
  ThreadPool pool(1);
  const KernelTable& kernels = kernel_tables().front();
  const auto refuse = [&](DType dtype, const Shape& shape, ActivationKind kind,
                          std::string_view text) {
    const auto weight = Tensor::zeros(dtype, shape);
    ASSERT_TRUE(weight.has_value());
    const auto packed = pack_weight(*weight, kind, kernels, pool);
    ASSERT_FALSE(packed.has_value());
    EXPECT_EQ(packed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(packed.error().message, text);
  };
  refuse(DType::kF32, {32}, ActivationKind::kF32,
         "A weight has rank 1; a product needs [rows, columns].");
  refuse(DType::kI32, {2, 32}, ActivationKind::kF32, "A weight of type i32 cannot be multiplied.");
  refuse(DType::kF16, {2, 32}, ActivationKind::kInt8,
         "A weight of type f16 does not take quantised activations.");
  refuse(DType::kF64, {2, 32}, ActivationKind::kF32, "A weight of type f64 needs f64 activations.");
  refuse(DType::kQ8_0, {2, 32}, ActivationKind::kF64,
         "A weight of type q8_0 does not take f64 activations.");
}

}  // namespace
}  // namespace quern::cpu::test
