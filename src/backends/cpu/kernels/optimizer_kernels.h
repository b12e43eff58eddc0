// Kernels of optimisers at one level: one pass over parameters, gradients and states.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

// Tensors of one update, n elements each. Results may lie over what they come from; a null state is
// zeros.
template <class T>
struct OptimizerPass {
  const T* params = nullptr;
  const T* grads = nullptr;
  const T* states[3] = {};
  T* new_params = nullptr;
  T* new_states[3] = {};
  int64_t n = 0;
};

// `rule` is the rule of ops/optimizer_rules-inl.h that the member is named after, over T.
template <class T>
struct OptimizerFunctions {
  using Update = void (*)(const void* rule, const OptimizerPass<T>& pass);
  Update adadelta = nullptr;
  Update adagrad = nullptr;
  Update adam = nullptr;
  Update adamax = nullptr;
  Update adamw = nullptr;
  Update lion = nullptr;
  Update rmsprop = nullptr;
  Update sgd = nullptr;
};

struct OptimizerKernels {
  OptimizerFunctions<float> f32;
  OptimizerFunctions<double> f64;
};

// Defined once per level, in optimizer_kernels.cc.
template <Isa kIsa>
OptimizerKernels optimizer_kernels();

}  // namespace quern::cpu
