// y = x W^T with a packed weight, and products of two float matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "backends/cpu/kernels/activation_layout.h"
#include "backends/cpu/kernels/packed_weight.h"

namespace quern::cpu {

// Part of the results of a product, written by one chunk on `thread`.
struct ResultTile {
  int64_t token_begin = 0;
  int64_t token_end = 0;
  int64_t row_begin = 0;  // of the weight, so a column of y
  int64_t row_end = 0;
  int thread = 0;
};
using TileFunction = std::function<void(const ResultTile&)>;

// A second product of the same activations, made chunk by chunk beside the first. Its weight has
// the dtype and shape of the first one.
struct SecondProduct {
  const PackedWeight* weight = nullptr;
  const void* bias = nullptr;
  double scale = 1.0;
  void* y = nullptr;
};

// One call of a product: y = (x W^T) * scale + bias, each rounded; the bits are those of
// `projection.linear`, for any number of tokens and threads.
struct LinearCall {
  const PackedWeight* weight = nullptr;
  int64_t num_tokens = 0;
  // Float rows [num_tokens, columns]: float for kF32, double for kF64.
  const void* x = nullptr;
  // Packed activations for kInt8 and kInt16, in the layout
  // make_activation_layout(num_tokens, columns, weight->activation_block(), 8 or 16).
  const std::byte* packed_x = nullptr;
  const void* bias = nullptr;    // [rows] float, double for kF64; or null
  double scale = 1.0;            // 1 leaves the step out
  void* y = nullptr;             // [num_tokens, rows] float, double for kF64
  std::byte* scratch = nullptr;  // linear_scratch_bytes(...) bytes, aligned to 64
  SecondProduct second = {};
  // Leaves the strict bits, within the bounds of docs/numerics.md: sums with FMA, and products of
  // bf16 pairs with bf16 weights, where the level has them and the tokens are many.
  bool is_fast = false;
  // Where given, called for each tile once its results are written, while they are in the cache.
  const TileFunction* finish = nullptr;
};

int64_t linear_scratch_bytes(const PackedWeight& weight, const KernelTable& kernels,
                             int64_t num_tokens, int num_threads, bool is_fast = false);
void linear(const LinearCall& call, const KernelTable& kernels, ThreadPool& pool);

// c [m, n] = a [m, k] b [k, n], all row-major, folded blocked(256). T: float or double. With
// `fuses` a product and its addition round once where the level has FMA; the bits still depend on
// neither m nor the threads.
template <class T>
struct MatmulCall {
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
  const T* a = nullptr;
  const T* b = nullptr;
  T* c = nullptr;
  bool fuses = false;
  std::byte* scratch = nullptr;          // matmul_scratch_bytes<T>(...) bytes, aligned to 64
  const TileFunction* finish = nullptr;  // as in LinearCall; rows are columns of b
};

struct MatmulSize {
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
};
template <class T>
int64_t matmul_scratch_bytes(const KernelTable& kernels, const MatmulSize& size, int num_threads);
template <class T>
void matmul(const MatmulCall<T>& call, const KernelTable& kernels, ThreadPool& pool);

// c [m, n] = a [m, k] b [k, n] of bf16 with sums in f32, in the order and rounding of the machine's
// dot products: for numerics that allow it.
struct Bf16MatmulCall {
  MatmulSize size;
  const uint16_t* a = nullptr;
  const uint16_t* b = nullptr;
  uint16_t* c = nullptr;
  std::byte* scratch = nullptr;  // matmul_bf16_scratch_bytes(...) bytes, aligned to 64
};
// Whether the level has such products; they need an even k.
bool can_multiply_bf16(const KernelTable& kernels, const MatmulSize& size);
int64_t matmul_bf16_scratch_bytes(const KernelTable& kernels, const MatmulSize& size,
                                  int num_threads);
void matmul_bf16(const Bf16MatmulCall& call, const KernelTable& kernels, ThreadPool& pool);

extern template int64_t matmul_scratch_bytes<float>(const KernelTable&, const MatmulSize&, int);
extern template int64_t matmul_scratch_bytes<double>(const KernelTable&, const MatmulSize&, int);
extern template void matmul<float>(const MatmulCall<float>&, const KernelTable&, ThreadPool&);
extern template void matmul<double>(const MatmulCall<double>&, const KernelTable&, ThreadPool&);

}  // namespace quern::cpu
