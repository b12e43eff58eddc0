// Fourier transforms: the bits of the reference at every power of two, and other sizes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;

template <class T>
// Real and imaginary parts beside each other, as the dtype stores them.
Tensor random_complex(DType dtype, int64_t n, int special_every = 0) {
  std::mt19937 random(static_cast<uint32_t>(n));
  const DType part = dtype == DType::kComplex64 ? DType::kF32 : DType::kF64;
  const Tensor parts = test::random_tensor(part, Shape{2 * n}, random, special_every);
  Tensor made = *Tensor::zeros(dtype, Shape{n});
  EXPECT_TRUE(made.buffer().write(0, *parts.read()).has_value());
  return made;
}

// Powers of two from a single element to as much as a second-level cache holds; 100 is no power of
// two and takes the other algorithm.
TEST(Fft, HasTheBitsOfTheReference) {
  for (const int64_t n : {1, 2, 8, 100, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}) {
    SCOPED_TRACE(n);
    for (const char* id : {"physics.fft1d", "physics.ifft1d"}) {
      expect_reference_bits(id, {random_complex<float>(DType::kComplex64, n)});
      expect_reference_bits(id, {random_complex<double>(DType::kComplex128, n)});
    }
  }
}

TEST(Fft, SpecialValues) {
  expect_reference_bits("physics.fft1d", {random_complex<float>(DType::kComplex64, 4096, 1000)});
}

}  // namespace
}  // namespace quern
