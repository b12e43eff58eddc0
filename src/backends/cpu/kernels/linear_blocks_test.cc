// Products with block-quantised weights have the reference's bits: every format, kind of
// activations, level of the machine, and number of threads.
#include <array>

#include "backends/cpu/kernels/product_test_support.h"

namespace quern::cpu::test {
namespace {

struct Extents {
  int64_t tokens;
  int64_t rows;
  int64_t columns;
};

// Tokens on both sides of the tiles, rows on both sides of the panels, and columns with a short
// last fold for blocks of 32.
// Tiles are 8 tokens or fewer, panels 16 rows or fewer; pairs of panels take 128 tokens and 1,024
// columns at a time.
constexpr Extents kExtents[] = {
    {1, 16, 512},  {1, 100, 1536}, {2, 17, 576},   {3, 48, 256},   {4, 15, 288},  {5, 1, 1536},
    {7, 33, 512},  {8, 48, 576},   {9, 17, 288},   {16, 16, 256},  {17, 100, 64}, {33, 15, 512},
    {64, 17, 576}, {13, 100, 32},  {141, 24, 288}, {27, 41, 2592},
};

class LinearBlocks : public testing::TestWithParam<DType> {
 protected:
  const BlockFormat& format() const { return *find_block_format(GetParam()); }

  // The extents that are whole blocks of the format; others are rounded up.
  int64_t columns_for(int64_t columns) const {
    return (columns + format().block_size - 1) / format().block_size * format().block_size;
  }

  void expect_all_kinds(Product p) {
    for (const ActivationKind kind :
         {ActivationKind::kInt8, ActivationKind::kInt16, ActivationKind::kF32}) {
      p.kind = kind;
      const std::string what = std::string(dtype_name(GetParam())) + ", kind " +
                               std::to_string(static_cast<int>(kind)) + ", x " +
                               p.x.shape().to_string() + ", weight " + p.weight.shape().to_string();
      expect_product_everywhere(p, quern::test::values_of<float>(reference(p)), what);
      if (HasFailure()) return;
    }
  }
};

TEST_P(LinearBlocks, HaveTheReferencesBits) {
  Random random(static_cast<uint64_t>(GetParam()) + 1);
  for (const Extents& e : kExtents) {
    const int64_t columns = columns_for(e.columns);
    Product p;
    p.x = quern::test::f32({e.tokens, columns}, random_floats(e.tokens * columns, random));
    p.weight = random_blocks(GetParam(), e.rows, columns, random);
    expect_all_kinds(p);
    if (HasFailure()) return;
  }
}

TEST_P(LinearBlocks, HaveTheReferencesBitsForHardActivations) {
  Random random(static_cast<uint64_t>(GetParam()) + 101);
  const int64_t columns = columns_for(512);
  Product p;
  p.x = quern::test::f32({31, columns}, hard_floats(31, columns, random));
  p.weight = random_blocks(GetParam(), 35, columns, random);
  expect_all_kinds(p);
}

// NaN and infinite scales must spread as they do in the reference, and no integer may index outside
// of a table.
// Any bytes are a weight: infinite and NaN scales, largest and smallest integers.
TEST_P(LinearBlocks, HaveTheReferencesBitsForAnyBytes) {
  Random random(static_cast<uint64_t>(GetParam()) + 201);
  const int64_t columns = columns_for(256);
  const int64_t size = 70 * columns / format().block_size * format().block_bytes;
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  // Whole rows of one byte: all integers at an end of their range.
  const auto row_bytes = static_cast<size_t>(size / 70);
  // 0x08 and 0x88 put 4-bit codes at 8 and 0.
  const std::array<int, 6> same = {0x00, 0xFF, 0x80, 0x7F, 0x08, 0x88};
  for (size_t r = 0; r < same.size(); ++r) {
    std::fill_n(bytes.begin() + static_cast<int64_t>(r * row_bytes), row_bytes,
                static_cast<std::byte>(same[r]));
  }
  auto weight = Tensor::from_bytes(GetParam(), {70, columns}, bytes);
  ASSERT_TRUE(weight.has_value());
  Product p;
  p.x = quern::test::f32({31, columns}, hard_floats(31, columns, random));
  p.weight = *weight;
  expect_all_kinds(p);
}

// Sums here are the largest that i32 must hold: an intermediate of 16 bits, or one that saturates,
// fails.
// Moderate scales, but every code at the end of its range and activations at their limits: the
// largest integer sums there are.
TEST_P(LinearBlocks, HaveTheReferencesBitsForTheLargestSums) {
  Random random(static_cast<uint64_t>(GetParam()) + 301);
  const int64_t columns = columns_for(512);
  Tensor weight = random_blocks(GetParam(), 20, columns, random);
  const auto bytes = *weight.buffer().mutable_host_view();
  DecodedBlock before;
  DecodedBlock after;
  // Flips bytes to 0, 0x80 or 0xFF wherever that leaves the scales as they are.
  const auto block_bytes = static_cast<size_t>(format().block_bytes);
  // Byte by byte: decoding before and after tells whether the byte belongs to a scale.
  for (size_t b = 0; b * block_bytes < bytes.size(); ++b) {
    std::byte* block = bytes.data() + b * block_bytes;
    constexpr std::array<int, 4> kEnds = {0xFF, 0x00, 0x80, 0x7F};
    const auto end = static_cast<std::byte>(kEnds[b % kEnds.size()]);
    for (size_t i = 0; i < block_bytes; ++i) {
      format().decode(block, before);
      const std::byte old = block[i];
      block[i] = end;
      format().decode(block, after);
      const bool is_same =
          std::equal(before.scale, before.scale + format().num_scales(), after.scale) &&
          (format().kind == BlockFormat::Kind::kScale ||
           format().kind == BlockFormat::Kind::kSuperScale || before.minimum == after.minimum);
      if (!is_same) block[i] = old;
    }
  }
  std::vector<float> x = random_floats(28 * columns, random);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / columns;
    if (row % 3 == 0) x[i] = row % 2 == 0 ? 0.7f : -0.7f;
    // 32,639 makes the block's scale 1, so that -128 and 127 stay themselves.
    // 16-bit integers with the low plane at -128 and 127.
    if (row % 3 == 1) x[i] = i % 32 == 0 ? 32639.0f : (row % 2 == 0 ? -128.0f : 127.0f);
  }
  Product p;
  p.x = quern::test::f32({28, columns}, x);
  p.weight = weight;
  expect_all_kinds(p);
}

TEST_P(LinearBlocks, ScaleAndBiasFollowTheProduct) {
  Random random(static_cast<uint64_t>(GetParam()) + 401);
  const int64_t columns = columns_for(256);
  Product p;
  p.x = quern::test::f32({6, columns}, random_floats(6 * columns, random));
  p.weight = random_blocks(GetParam(), 37, columns, random);
  p.bias = quern::test::f32({37}, random_floats(37, random));
  p.scale = 1.1;
  expect_all_kinds(p);
}

// The pointers of empty tensors may be null: no kernel may touch them.
TEST_P(LinearBlocks, NoTokensAndNoRowsAreNoWork) {
  for (const KernelTable& kernels : kernel_tables()) {
    ThreadPool pool(2);
    const int64_t columns = columns_for(256);
    auto weight = Tensor::zeros(GetParam(), {0, columns});
    ASSERT_TRUE(weight.has_value());
    const auto packed = pack_weight(*weight, ActivationKind::kInt16, kernels, pool);
    ASSERT_TRUE(packed.has_value()) << packed.error().message;
    EXPECT_EQ(packed->rows(), 0);
    linear({.weight = &*packed, .num_tokens = 3}, kernels, pool);
    Random random(7);
    const Tensor rows = random_blocks(GetParam(), 3, columns, random);
    const auto some = pack_weight(rows, ActivationKind::kF32, kernels, pool);
    ASSERT_TRUE(some.has_value());
    linear({.weight = &*some, .num_tokens = 0}, kernels, pool);
  }
}

// 10 MiB of q8_0 are more than one piece; 4,099 rows leave a short panel.
TEST(PackWeight, TellsOfEveryByteOnceAndInOrder) {
  ThreadPool pool(2);
  const Tensor weight = *Tensor::zeros(DType::kQ8_0, {4099, 2432});
  const auto bytes = *weight.host_view();
  for (const KernelTable& kernels : kernel_tables()) {
    const std::byte* next = bytes.data();
    int calls = 0;
    const auto packed = [&](std::span<const std::byte> piece) {
      EXPECT_EQ(piece.data(), next);
      next += piece.size();
      ++calls;
    };
    ASSERT_TRUE(pack_weight(weight, ActivationKind::kInt8, kernels, pool, nullptr, packed));
    EXPECT_EQ(next, bytes.data() + bytes.size());
    EXPECT_GT(calls, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(AllFormats, LinearBlocks, testing::ValuesIn(all_block_formats()),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

}  // namespace
}  // namespace quern::cpu::test
