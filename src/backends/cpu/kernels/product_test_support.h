// For tests of products: random inputs with full mantissas, the reference's results, and the same
// through packed weights at a level.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/kernels/activation_packing.h"
#include "backends/cpu/kernels/linear.h"
#include "quern/op.h"
#include "support/bit_equal.h"
#include "support/op_runner.h"
#include "tensor/block_format.h"
#include "tensor/convert.h"

namespace quern::cpu::test {

using quern::test::all_same_bits;

inline std::vector<DType> all_block_formats() {
  std::vector<DType> formats;
  for (const DTypeInfo& info : all_dtypes()) {
    if (find_block_format(info.dtype) != nullptr) formats.push_back(info.dtype);
  }
  return formats;
}

using Random = std::mt19937_64;

// A normal number with a random mantissa and an exponent of a few octaves around 1.
inline float random_float(Random& random) {
  const auto mantissa = static_cast<float>(1 + static_cast<double>(random() >> 11) * 0x1p-53);
  const float magnitude = std::ldexp(mantissa, static_cast<int>(random() % 5) - 3);
  return random() % 2 == 0 ? magnitude : -magnitude;
}
inline std::vector<float> random_floats(int64_t n, Random& random) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = random_float(random);
  return values;
}

// Activations whose rows take turns: random, all zero, denormal, the largest finite values, a NaN,
// an infinity, blocks of full negative and positive amplitude.
inline std::vector<float> hard_floats(int64_t rows, int64_t columns, Random& random) {
  std::vector<float> x = random_floats(rows * columns, random);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x.data() + r * columns;
    const auto at = static_cast<int64_t>(random() % static_cast<uint64_t>(columns));
    switch (r % 8) {
      case 1:
        std::fill_n(row, columns, 0.0f);
        break;
      case 2:
        for (int64_t k = 0; k < columns; ++k) row[k] *= 0x1p-130f;
        break;
      case 3:
        for (int64_t k = 0; k < columns; ++k) row[k] *= 0x1p125f;
        break;
      case 4:
        row[at] = std::numeric_limits<float>::quiet_NaN();
        break;
      case 5:
        row[at] = -std::numeric_limits<float>::infinity();
        break;
      case 6:
        // Every integer is the limit: sums are as large as they get.
        for (int64_t k = 0; k < columns; ++k) row[k] = r % 16 < 8 ? -1.25f : 1.25f;
        break;
      default:
        break;
    }
  }
  return x;
}

// A block of random bytes with scales in a middle range, so that no term drowns the others.
inline void random_block(const BlockFormat& format, Random& random, std::byte* out) {
  const auto is_moderate = [](float v) {
    return std::isfinite(v) && std::fabs(v) < 4.0f && std::fabs(v) > 0x1p-12f;
  };
  DecodedBlock block;
  for (int attempt = 0; attempt < 20000; ++attempt) {
    for (int i = 0; i < format.block_bytes; ++i) out[i] = static_cast<std::byte>(random());
    format.decode(out, block);
    const bool has_min = format.kind == BlockFormat::Kind::kScaleMin ||
                         format.kind == BlockFormat::Kind::kSuperScaleMin;
    if (is_moderate(block.scale[0]) && (!has_min || is_moderate(block.minimum))) return;
  }
  ADD_FAILURE() << "No moderate block of " << dtype_name(format.dtype);
}

inline Tensor random_blocks(DType dtype, int64_t rows, int64_t columns, Random& random) {
  const BlockFormat& format = *find_block_format(dtype);
  const int64_t blocks = rows * (columns / format.block_size);
  std::vector<std::byte> bytes(static_cast<size_t>(blocks * format.block_bytes));
  for (int64_t b = 0; b < blocks; ++b) {
    random_block(format, random, bytes.data() + b * format.block_bytes);
  }
  auto weight = Tensor::from_bytes(dtype, {rows, columns}, bytes);
  return weight ? std::move(*weight) : Tensor();
}

// What is multiplied; `y` is the reference's result.
struct Product {
  Tensor x;  // f32 or f64 [tokens, columns]
  Tensor weight;
  ActivationKind kind = ActivationKind::kF32;
  Tensor bias;  // or empty
  double scale = 1.0;

  int64_t num_tokens() const { return x.shape()[0]; }
  int64_t columns() const { return x.shape()[1]; }
  bool is_integer() const {
    return kind == ActivationKind::kInt8 || kind == ActivationKind::kInt16;
  }
  int bits() const { return kind == ActivationKind::kInt16 ? 16 : 8; }
};

// The reference: projection.linear after quant.dynamic.
inline Tensor reference(const Product& p) {
  const Attributes attributes = {{"weight_scale", p.scale}};
  if (!p.is_integer()) {
    return quern::test::run_one("projection.linear", {p.x, p.weight, p.bias}, attributes);
  }
  const int64_t block = find_block_format(p.weight.dtype())->activation_block;
  auto quantized =
      quern::test::run_op("quant.dynamic", {p.x}, {{"block", block}, {"bits", int64_t{p.bits()}}});
  if (!quantized) {
    ADD_FAILURE() << quantized.error().message;
    return {};
  }
  return quern::test::run_one("projection.linear",
                              {(*quantized)[0], p.weight, p.bias, (*quantized)[1]}, attributes);
}

// Memory of `size` bytes, aligned, holding a pattern that shows in results that read it.
inline Buffer dirty_memory(int64_t size) {
  auto buffer = Buffer::allocate_host(std::max<int64_t>(size, 64));
  const auto bytes = buffer->mutable_host_view();
  std::fill(bytes->begin(), bytes->end(), std::byte{0xA5});
  return *buffer;
}

// The product with a weight packed before; T is the type of x, bias and y.
template <class T = float>
std::vector<T> multiply(const Product& p, const PackedWeight& weight, const KernelTable& kernels,
                        ThreadPool& pool) {
  std::vector<T> y(static_cast<size_t>(p.num_tokens() * weight.rows()), T(-77));
  Buffer scratch =
      dirty_memory(linear_scratch_bytes(weight, kernels, p.num_tokens(), pool.num_threads()));
  LinearCall call{.weight = &weight,
                  .num_tokens = p.num_tokens(),
                  .x = p.x.host_view()->data(),
                  .bias = p.bias.is_empty() ? nullptr : p.bias.host_view()->data(),
                  .scale = p.scale,
                  .y = y.data(),
                  .scratch = scratch.mutable_host_view()->data()};
  Buffer packed;
  if (p.is_integer()) {
    const ActivationLayout layout =
        make_activation_layout(p.num_tokens(), p.columns(), weight.activation_block(), p.bits());
    packed = dirty_memory(layout.size_bytes);
    pack_activations(layout, kernels, static_cast<const float*>(call.x),
                     packed.mutable_host_view()->data(), pool);
    call.packed_x = packed.host_view()->data();
    call.x = nullptr;
  }
  linear(call, kernels, pool);
  return y;
}

// The same where the weight is not packed, unless its products need that.
template <class T>
void expect_product_of_made_panels(const Product& p, const KernelTable& kernels,
                                   const std::vector<T>& expected, const std::string& what) {
  if (p.kind == ActivationKind::kF32 && is_quantized(p.weight.dtype())) return;
  const auto weight = wrap_weight(p.weight, p.kind, kernels);
  ASSERT_TRUE(weight.has_value()) << weight.error().message;
  ThreadPool pool(2);
  EXPECT_TRUE(all_same_bits(multiply<T>(p, *weight, kernels, pool), expected))
      << what << ", " << isa_name(kernels.isa) << ", not packed";
}

// The product at every level of the machine and 1, 2 and 3 threads has the bits of `expected`.
template <class T = float>
void expect_product_everywhere(const Product& p, const std::vector<T>& expected,
                               const std::string& what) {
  for (const KernelTable& kernels : kernel_tables()) {
    ThreadPool packing(2);
    const auto weight = pack_weight(p.weight, p.kind, kernels, packing);
    ASSERT_TRUE(weight.has_value()) << weight.error().message;
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      EXPECT_TRUE(all_same_bits(multiply<T>(p, *weight, kernels, pool), expected))
          << what << ", " << isa_name(kernels.isa) << ", " << threads << " threads";
    }
    expect_product_of_made_panels(p, kernels, expected, what);
  }
}

}  // namespace quern::cpu::test
