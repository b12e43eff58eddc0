// The parts of `linear`: integer activations, and float ones, few or many. For linear.cc only.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/linear.h"
#include "base/checked_math.h"

namespace quern::cpu {

int64_t integer_scratch_bytes(const PackedWeight& weight, const LinearKernels& kernels,
                              int64_t num_tokens, int num_threads);
void linear_integers(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool);

int64_t float_scratch_bytes(const PackedWeight& weight, const LinearKernels& kernels,
                            int64_t num_tokens, int num_threads);
void linear_floats(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool);
void linear_doubles(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool);

// Whether a product of f32 activations has so many tokens that linear_tiles() makes it; not where
// the weight is not packed.
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

// Most bytes of panels that a product makes at a time of a weight that is not packed, unless one
// has more: with the activations they stay in the second-level cache.
constexpr int64_t kMadePanelsBytes = int64_t{64} << 10;

inline int64_t panels_made_at_once(const PackedWeight& weight, const LinearKernels& kernels) {
  const int64_t fit = kMadePanelsBytes / std::max<int64_t>(1, weight.panel_bytes());
  return std::max<int64_t>(1, fit / kernels.panels_at_once) * kernels.panels_at_once;
}

// Room for such panels of each thread; 0 for packed weights.
inline int64_t made_panels_bytes(const PackedWeight& weight, const LinearKernels& kernels,
                                 int num_threads) {
  if (weight.is_packed()) return 0;
  return num_threads * round_up(panels_made_at_once(weight, kernels) * weight.panel_bytes(), 64);
}

// Hands what was computed to call.finish, where there is one.
inline void finish_range(const LinearCall& call, const ProductRange& range, int64_t panel_rows,
                         int thread) {
  if (call.finish == nullptr) return;
  (*call.finish)({range.token_begin, range.token_end, range.panel_begin * panel_rows,
                  std::min(call.weight->rows(), range.panel_end * panel_rows), thread});
}

// A product and perhaps a second one, and the kernel of both.
template <class Product, class Kernel>
struct ProductPair {
  const LinearCall& call;
  const LinearKernels& kernels;
  Kernel kernel;
  Product first;
  Product second;
  std::byte* room;  // made_panels_bytes(...), where the weights are not packed

  // Both products on a range, then what finishes it.
  void run(const ProductRange& range, int thread) const {
    multiply(*call.weight, first, range, thread);
    if (call.second.weight != nullptr) multiply(*call.second.weight, second, range, thread);
    finish_range(call, range, call.weight->panel_rows(), thread);
  }

 private:
  void multiply(const PackedWeight& weight, const Product& product, const ProductRange& range,
                int thread) const {
    if (weight.is_packed()) return kernel(product, range);
    const int64_t most = panels_made_at_once(weight, kernels);
    std::byte* own = room + thread * made_panels_bytes(weight, kernels, 1);
    for (int64_t panel = range.panel_begin; panel < range.panel_end; panel += most) {
      const int64_t count = std::min(most, range.panel_end - panel);
      make_panels(weight, kernels, panel, count, own);
      kernel(rows_from(product, own, panel * weight.panel_rows()),
             {.panel_begin = 0,
              .panel_end = count,
              .token_begin = range.token_begin,
              .token_end = range.token_end});
    }
  }

  // The product of the panels at `panels`, whose first row is `row` of the weight.
  static Product rows_from(Product product, const std::byte* panels, int64_t row) {
    product.panels = panels;
    product.out.y += row;
    product.out.rows -= row;
    if (product.out.bias != nullptr) product.out.bias += row;
    return product;
  }
};

}  // namespace quern::cpu
