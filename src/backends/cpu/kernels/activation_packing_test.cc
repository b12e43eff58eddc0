// Quantised activations, packed and plain, against the reference at every level.
#include "backends/cpu/kernels/activation_packing.h"

#include <cstring>

#include "backends/cpu/kernels/product_test_support.h"

namespace quern::cpu::test {
namespace {

struct Plain {
  std::vector<int32_t> q;
  std::vector<float> d;
};

// `quant.dynamic` by the reference kernel.
Plain quantize_by_reference(const Tensor& x, int64_t block, int bits) {
  auto outputs =
      quern::test::run_op("quant.dynamic", {x}, {{"block", block}, {"bits", int64_t{bits}}});
  if (!outputs) {
    ADD_FAILURE() << outputs.error().message;
    return {};
  }
  Plain plain;
  plain.d = quern::test::values_of<float>((*outputs)[1]);
  if (bits == 8) {
    for (const int8_t q : quern::test::values_of<int8_t>((*outputs)[0])) plain.q.push_back(q);
  } else {
    for (const int16_t q : quern::test::values_of<int16_t>((*outputs)[0])) plain.q.push_back(q);
  }
  return plain;
}

Plain quantize(const std::vector<float>& x, const QuantizeRows& rows, const KernelTable& kernels) {
  ThreadPool pool(2);
  Plain plain;
  const auto count = static_cast<size_t>(rows.num_rows * rows.columns);
  const int64_t blocks = (rows.columns + rows.block - 1) / rows.block;
  // Dirty values: an element that is not written shows.
  plain.d.resize(static_cast<size_t>(rows.num_rows * blocks), -1.0f);
  std::vector<int8_t> q8(count, 99);
  std::vector<int16_t> q16(count, 99);
  QuantizeRows call = rows;
  call.x = x.data();
  call.q = rows.bits == 8 ? static_cast<void*>(q8.data()) : static_cast<void*>(q16.data());
  call.d = plain.d.data();
  quantize_rows(call, kernels, pool);
  if (rows.bits == 8) {
    plain.q.assign(q8.begin(), q8.end());
  } else {
    plain.q.assign(q16.begin(), q16.end());
  }
  return plain;
}

// Columns around the blocks of 32 and 256; blocks of 1 and 7, which only the plain form has.
TEST(QuantizeRows, HaveTheReferencesBits) {
  Random random(3);
  for (const int64_t columns : {1, 31, 32, 33, 255, 256, 257, 576}) {
    const std::vector<float> x = hard_floats(17, columns, random);
    const Tensor tensor = quern::test::f32({17, columns}, x);
    for (const int64_t block : {1, 7, 32, 256}) {
      for (const int bits : {8, 16}) {
        const Plain expected = quantize_by_reference(tensor, block, bits);
        for (const KernelTable& kernels : kernel_tables()) {
          const QuantizeRows rows{.num_rows = 17, .columns = columns, .block = block, .bits = bits};
          const Plain actual = quantize(x, rows, kernels);
          EXPECT_EQ(actual.q, expected.q) << isa_name(kernels.isa) << " " << columns;
          EXPECT_TRUE(all_same_bits(actual.d, expected.d)) << isa_name(kernels.isa);
        }
      }
    }
  }
}

// amax = 127 makes r = 1: x itself is rounded, 2.5 to 2 and 3.5 to 4.
// Values of x * r that end in one half, where rounding to even shows.
TEST(QuantizeRows, TiesGoToTheEvenInteger) {
  std::vector<float> x(32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) + 0.5f;
  x[31] = 127.0f;
  const Plain expected = quantize_by_reference(quern::test::f32({1, 32}, x), 32, 8);
  EXPECT_EQ(expected.q[2], 2);
  EXPECT_EQ(expected.q[3], 4);
  for (const KernelTable& kernels : kernel_tables()) {
    EXPECT_EQ(quantize(x, {.num_rows = 1, .columns = 32, .block = 32, .bits = 8}, kernels).q,
              expected.q);
  }
}

// A reader of the packed form by the picture in activation_layout.h, independent of its writers.
class PackedReader {
 public:
  PackedReader(const ActivationLayout& layout, const std::byte* packed)
      : layout_(layout), packed_(packed) {}

  int32_t integer(int64_t token, int64_t k) const {
    if (layout_.num_planes() == 1) return plane(token, k, 0);
    return 256 * plane(token, k, 0) + plane(token, k, 1);
  }
  float d(int64_t token, int64_t b) const { return item<float>(layout_.d, token, b, 1, 0); }
  float sum(int64_t token, int64_t b) const { return item<float>(layout_.sums, token, b, 1, 0); }
  int32_t int_sum(int64_t token, int64_t run, int p) const {
    return item<int32_t>(layout_.int_sums, token, run, layout_.num_planes(), p);
  }
  int32_t pair_sum(int64_t array, int64_t token, int64_t run, int p) const {
    const int planes = layout_.num_planes();
    return item<int16_t>(array, token, run / 2, 2 * planes, 2 * p + static_cast<int>(run % 2));
  }
  int32_t plane(int64_t token, int64_t k, int p) const {
    const int planes = layout_.num_planes();
    return item<int8_t>(layout_.q, token, k / 32, 32 * planes, 32 * p + static_cast<int>(k % 32));
  }

 private:
  // Element `at` of the `size` that token and line have: [line][W][size] inside a tile.
  template <class T>
  T item(int64_t offset, int64_t token, int64_t line, int64_t size, int at) const {
    int64_t tile = 0;
    int64_t width = tile_width(layout_.num_tokens);
    while (token >= tile + width) {
      tile += width;
      width = tile_width(layout_.num_tokens - tile);
    }
    const int64_t lines = lines_of(offset);
    const int64_t index = tile * lines * size + (line * width + token - tile) * size + at;
    T value;
    std::memcpy(&value, packed_ + offset + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
  }
  int64_t lines_of(int64_t offset) const {
    const int64_t k = layout_.columns;
    if (offset == layout_.d && offset != layout_.q) return k / layout_.block;
    if (offset == layout_.q || (layout_.block == 32 && offset == layout_.sums)) return k / 32;
    if (offset == layout_.int_sums) return k / layout_.run();
    return offset == layout_.pairs_16 ? k / 32 : k / 64;
  }

  const ActivationLayout& layout_;
  const std::byte* packed_;
};

// The two planes of 16 bits: hi = (q + 128) >> 8, lo = q - 256 hi (see numerics).
int32_t plane_of(int32_t q, int bits, int p) {
  if (bits == 8) return q;
  const int32_t hi = (q + 128) >> 8;
  return p == 0 ? hi : q - 256 * hi;
}

// Sum of plane p over `count` integers from `first` of a row.
int32_t plane_sum(const int32_t* row, int64_t first, int64_t count, int bits, int p) {
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += plane_of(row[first + i], bits, p);
  return sum;
}

void expect_packed(const PackedReader& reader, const ActivationLayout& layout, const Plain& plain) {
  const int64_t k = layout.columns;
  const int64_t blocks = k / layout.block;
  for (int64_t t = 0; t < layout.num_tokens; ++t) {
    const int32_t* row = plain.q.data() + t * k;
    for (int64_t i = 0; i < k; ++i) ASSERT_EQ(reader.integer(t, i), row[i]) << t << " " << i;
    for (int64_t b = 0; b < blocks; ++b) {
      const float d = plain.d[static_cast<size_t>(t * blocks + b)];
      ASSERT_TRUE(quern::test::same_bits(reader.d(t, b), d));
      if (layout.block != 32) continue;
      int32_t total = 0;
      for (int64_t i = 0; i < 32; ++i) total += row[b * 32 + i];
      ASSERT_TRUE(quern::test::same_bits(reader.sum(t, b), d * static_cast<float>(total)));
    }
    for (int p = 0; p < layout.num_planes(); ++p) {
      for (int64_t r = 0; r < k / layout.run(); ++r) {
        ASSERT_EQ(reader.int_sum(t, r, p),
                  plane_sum(row, r * layout.run(), layout.run(), layout.bits, p));
      }
      if (layout.block != 256) continue;
      for (int64_t r = 0; r < k / 16; ++r) {
        ASSERT_EQ(reader.pair_sum(layout.pairs_16, t, r, p),
                  plane_sum(row, r * 16, 16, layout.bits, p));
      }
      for (int64_t r = 0; r < k / 32; ++r) {
        ASSERT_EQ(reader.pair_sum(layout.pairs_32, t, r, p),
                  plane_sum(row, r * 32, 32, layout.bits, p));
      }
    }
  }
}

// 288 = 9 * 32 and 768 = 3 * 256 columns; tokens on both sides of tiles of 8, as the layout changes
// with the width of the last tile.
TEST(PackActivations, HoldTheReferencesIntegersScalesAndSums) {
  Random random(4);
  for (const int64_t tokens : {1, 2, 3, 7, 8, 9, 15, 23}) {
    for (const int block : {32, 256}) {
      const int64_t columns = block == 32 ? 288 : 768;
      const std::vector<float> x = hard_floats(tokens, columns, random);
      for (const int bits : {8, 16}) {
        const Plain plain =
            quantize_by_reference(quern::test::f32({tokens, columns}, x), block, bits);
        const ActivationLayout layout = make_activation_layout(tokens, columns, block, bits);
        for (const KernelTable& kernels : kernel_tables()) {
          ThreadPool pool(2);
          Buffer memory = dirty_memory(layout.size_bytes);
          std::byte* packed = memory.mutable_host_view()->data();
          pack_activations(layout, kernels, x.data(), packed, pool);
          expect_packed(PackedReader(layout, packed), layout, plain);
          if (HasFatalFailure()) FAIL() << isa_name(kernels.isa) << ", " << tokens << " tokens";
        }
      }
    }
  }
}

// Both ways into the packed form must agree, since graphs may take either.
TEST(PackPlainActivations, GivesTheSameBytesAsQuantising) {
  Random random(5);
  for (const int block : {32, 256}) {
    const int64_t columns = 512;
    const std::vector<float> x = hard_floats(11, columns, random);
    for (const int bits : {8, 16}) {
      const Plain plain = quantize_by_reference(quern::test::f32({11, columns}, x), block, bits);
      const std::vector<int8_t> q8(plain.q.begin(), plain.q.end());
      const std::vector<int16_t> q16(plain.q.begin(), plain.q.end());
      const void* q = bits == 8 ? static_cast<const void*>(q8.data()) : q16.data();
      const ActivationLayout layout = make_activation_layout(11, columns, block, bits);
      for (const KernelTable& kernels : kernel_tables()) {
        ThreadPool pool(2);
        Buffer memory = dirty_memory(layout.size_bytes);
        std::byte* packed = memory.mutable_host_view()->data();
        const auto result =
            pack_plain_activations(layout, kernels, q, plain.d.data(), packed, pool);
        ASSERT_TRUE(result.has_value()) << result.error().message;
        expect_packed(PackedReader(layout, packed), layout, plain);
      }
    }
  }
}

// -128 is an int8 that quant.dynamic never gives, 32,640 one above its largest int16: products
// would overflow their sums. -32,639 is the last legal one.
TEST(PackPlainActivations, RefusesIntegersThatQuantisingNeverGives) {
  ThreadPool pool(1);
  const std::vector<float> d(1, 1.0f);
  std::vector<int8_t> q8(32, 0);
  q8[17] = -128;
  const ActivationLayout layout8 = make_activation_layout(1, 32, 32, 8);
  Buffer memory = dirty_memory(4096);
  std::byte* packed = memory.mutable_host_view()->data();
  const KernelTable& kernels = kernel_tables().front();
  const auto bytes = pack_plain_activations(layout8, kernels, q8.data(), d.data(), packed, pool);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().message,
            "Quantised activations of 8 bits hold an integer beyond 127; quant.dynamic gives "
            "none.");
  std::vector<int16_t> q16(32, 0);
  q16[3] = 32640;
  const ActivationLayout layout16 = make_activation_layout(1, 32, 32, 16);
  EXPECT_FALSE(
      pack_plain_activations(layout16, kernels, q16.data(), d.data(), packed, pool).has_value());
  q16[3] = -32639;
  EXPECT_TRUE(
      pack_plain_activations(layout16, kernels, q16.data(), d.data(), packed, pool).has_value());
}

TEST(ActivationLayout, OnlyWholeBlocksArePacked) {
  EXPECT_TRUE(can_pack_activations(288, 32, 8));
  EXPECT_TRUE(can_pack_activations(512, 256, 16));
  EXPECT_FALSE(can_pack_activations(288, 256, 8));
  EXPECT_FALSE(can_pack_activations(33, 32, 8));
  EXPECT_FALSE(can_pack_activations(64, 16, 8));
}

}  // namespace
}  // namespace quern::cpu::test
