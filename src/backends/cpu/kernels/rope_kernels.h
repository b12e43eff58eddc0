// Kernels of rotary position embeddings at one level: all heads of one token. In place is allowed.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

template <class T>
struct RopeRow {
  const T* x = nullptr;  // [heads][head_dim]
  T* y = nullptr;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t n_rot = 0;  // the first n_rot elements rotate, the rest is copied
  const T* cos = nullptr;
  const T* sin = nullptr;
};

template <class T>
struct RopeFunctions {
  // Pairs (i, i + n_rot / 2): cos and sin hold n_rot / 2 elements.
  void (*rotate_half)(const RopeRow<T>& row) = nullptr;
  // Pairs (2i, 2i + 1): cos and sin hold n_rot elements, c0 c0 c1 c1 ... and -s0 s0 -s1 s1 ...
  void (*rotate_interleaved)(const RopeRow<T>& row) = nullptr;
};

struct RopeKernels {
  RopeFunctions<float> f32;
  RopeFunctions<double> f64;
};

// Defined once per level, in rope_kernels.cc.
template <Isa kIsa>
RopeKernels rope_kernels();

}  // namespace quern::cpu
