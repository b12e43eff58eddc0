// The parts of `linear`: integer activations, and float ones, few or many. For linear.cc only.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/linear.h"

namespace quern::cpu {

int64_t integer_scratch_bytes(const PackedWeight& weight, const LinearKernels& kernels,
                              int64_t num_tokens);
void linear_integers(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool);

int64_t float_scratch_bytes(const PackedWeight& weight, const LinearKernels& kernels,
                            int64_t num_tokens, int num_threads);
void linear_floats(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool);
void linear_doubles(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool);

// Whether a product of f32 activations has so many tokens that linear_tiles() makes it.
bool makes_tiles(const PackedWeight& weight, int64_t num_tokens);
int64_t tile_scratch_bytes(const PackedWeight& weight, const KernelTable& kernels,
                           int64_t num_tokens, int num_threads, bool is_fast);
void linear_tiles(const LinearCall& call, const KernelTable& kernels, ThreadPool& pool);

inline bool has_integer_activations(const PackedWeight& weight) {
  return weight.activations() == ActivationKind::kInt8 ||
         weight.activations() == ActivationKind::kInt16;
}

template <class T>
ProductOutput<T> output_of(const LinearCall& call) {
  return {.y = static_cast<T*>(call.y),
          .y_stride = call.weight->rows(),
          .rows = call.weight->rows(),
          .bias = static_cast<const T*>(call.bias),
          .scale = static_cast<T>(call.scale)};
}

template <class T>
ProductOutput<T> second_output_of(const LinearCall& call) {
  ProductOutput<T> out = output_of<T>(call);
  out.y = static_cast<T*>(call.second.y);
  out.bias = static_cast<const T*>(call.second.bias);
  out.scale = static_cast<T>(call.second.scale);
  return out;
}

// Runs `kernel` on a range of the product and, where there is one, of the second, then finishes it.
template <class Product, class Kernel>
void run_range(const LinearCall& call, const Product& product, const Product& second, Kernel kernel,
               const ProductRange& range, int64_t panel_rows, int thread) {
  kernel(product, range);
  if (call.second.weight != nullptr) kernel(second, range);
  if (call.finish == nullptr) return;
  (*call.finish)({range.token_begin, range.token_end, range.panel_begin * panel_rows,
                  std::min(call.weight->rows(), range.panel_end * panel_rows), thread});
}

}  // namespace quern::cpu
