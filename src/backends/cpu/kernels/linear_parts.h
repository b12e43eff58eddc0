// The two halves of `linear`: integer and float activations. For linear.cc only.
#pragma once

#include "backends/cpu/kernels/linear.h"

namespace quern::cpu {

int64_t integer_scratch_bytes(const PackedWeight& weight, const LinearKernels& kernels,
                              int64_t num_tokens);
void linear_integers(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool);

int64_t float_scratch_bytes(const PackedWeight& weight, const LinearKernels& kernels,
                            int64_t num_tokens, int num_threads);
void linear_floats(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool);
void linear_doubles(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool);

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

}  // namespace quern::cpu
