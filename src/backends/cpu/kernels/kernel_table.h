// The kernels of one instruction-set level, as function pointers. Chosen once, above the loops.
#pragma once

#include <optional>
#include <span>
#include <type_traits>

#include "backends/cpu/kernels/attention_kernels.h"
#include "backends/cpu/kernels/convolution_kernels.h"
#include "backends/cpu/kernels/elementwise_kernels.h"
#include "backends/cpu/kernels/fft_kernels.h"
#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/kernels/integer_key_kernels.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/linear_kernels.h"
#include "backends/cpu/kernels/loss_kernels.h"
#include "backends/cpu/kernels/norm_kernels.h"
#include "backends/cpu/kernels/optimizer_kernels.h"
#include "backends/cpu/kernels/probe_kernels.h"
#include "backends/cpu/kernels/quantize_kernels.h"
#include "backends/cpu/kernels/reduce_kernels.h"
#include "backends/cpu/kernels/rope_kernels.h"
#include "backends/cpu/kernels/softmax_kernels.h"

namespace quern::cpu {

// One member per kernel family. A family is a header with a struct of function pointers and a
// template `x_kernels<Isa>()`, and a source that defines it, compiled once per level.
struct KernelTable {
  Isa isa = Isa::kScalar;
  AttentionKernels attention;
  ConvolutionKernels convolution;
  ElementwiseKernels elementwise;
  FftKernels fft;
  GemmKernels gemm;
  IntegerKeyKernels integer_keys;
  LinearKernels linear;
  LossKernels loss;
  NormKernels norm;
  OptimizerKernels optimizer;
  ProbeKernels probe;
  QuantizeKernels quantize;
  ReduceKernels reduce;
  RopeKernels rope;
  SoftmaxKernels softmax;
};

// The functions for T, float or double, of a family that has both.
template <class T, class Family>
const auto& functions_of(const Family& family) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if constexpr (std::is_same_v<T, float>) {
    return family.f32;
  } else {
    return family.f64;
  }
}

// A level of this build. `make` is compiled with the instructions of the level, so it may run only
// where the level is supported.
struct KernelLevel {
  Isa isa = Isa::kScalar;
  KernelTable (*make)() = nullptr;
};

// The levels of this build, lowest first; the machine need not support them.
std::span<const KernelLevel> kernel_levels();
// Whether one of them is `isa`.
bool has_kernel_level(Isa isa);
// The tables of the levels that this machine supports, lowest first.
std::span<const KernelTable> kernel_tables();
// The table of exactly this level, or null when the build or the machine has none.
const KernelTable* find_kernel_table(Isa isa);
// The best table that the processor supports, not above `cap`.
const KernelTable& best_kernel_table(const CpuFeatures& features,
                                     std::optional<Isa> cap = std::nullopt);

}  // namespace quern::cpu
