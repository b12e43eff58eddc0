// Tiles against the definition, at odd addresses, with nothing written beside them.
#include "backends/cpu/kernels/transpose-inl.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace quern::cpu {
namespace {

template <class Vector, class Element>
void expect_transposed(int64_t step_in, int64_t step_out, int64_t shift) {
  constexpr int64_t kSize = 16 / sizeof(Element);
  std::vector<std::byte> in(static_cast<size_t>(shift + kSize * step_in + 16));
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 37 + i / 256);
  std::vector<std::byte> out(static_cast<size_t>(shift + kSize * step_out + 16), std::byte{0xEE});
  std::vector<std::byte> expected = out;
  for (int64_t row = 0; row < kSize; ++row) {
    for (int64_t column = 0; column < kSize; ++column) {
      std::memcpy(expected.data() + shift + column * step_out + row * sizeof(Element),
                  in.data() + shift + row * step_in + column * sizeof(Element), sizeof(Element));
    }
  }
  transpose_tile<Vector>(in.data() + shift, step_in, out.data() + shift, step_out);
  EXPECT_TRUE(out == expected) << step_in << " " << step_out << " " << shift;
}

TEST(Transpose, TurnsTilesAtAnyAddress) {
  for (const int64_t step_in : {16, 17, 34, 100}) {
    for (const int64_t step_out : {16, 32, 64, 65}) {
      for (const int64_t shift : {0, 1, 7}) {
        expect_transposed<Halves, uint16_t>(step_in, step_out, shift);
        expect_transposed<Dwords, uint32_t>(step_in, step_out, shift);
      }
    }
  }
}

TEST(Transpose, TwiceIsNothing) {
  Dwords v[4];
  for (uint32_t i = 0; i < 4; ++i) v[i] = Dwords{4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3};
  transpose(v);
  EXPECT_EQ(v[1][2], 9U);
  transpose(v);
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(v[i / 4][i % 4], i);
}

}  // namespace
}  // namespace quern::cpu
