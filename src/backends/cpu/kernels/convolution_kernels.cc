// Panels of convolution inputs; compiled once per level.
#include "backends/cpu/kernels/convolution_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/gemm-inl.h"

namespace quern::cpu {
namespace {

// One run: every row of the panel is a copy of `kWidth` neighbours.
template <class T, int kWidth>
QUERN_INLINE void copy_row(const T* from, T* to) {
  using V = VectorFor<T>;
  for (int i = 0; i < kWidth; i += kLanesOf<V>) store(to + i, load<V>(from + i));
}

// Runs are stored whole, each over the end of the one before; what the last leaves past the end of
// its row is overwritten by the next row.
template <class T>
void pack_panel(const TapImage<T>& source, const TapRun* runs, int64_t num_runs, T* out) {
  constexpr int kWidth = GemmPanel<VectorFor<T>>::kWidth;
  for (int64_t channel = 0; channel < source.channels; ++channel) {
    const T* image = source.image + channel * source.channel_stride;
    for (int64_t tap = 0; tap < source.num_taps; ++tap, out += kWidth) {
      const T* from = image + source.tap_offsets[tap];
      copy_row<T, kWidth>(from + runs[0].offset, out);
      for (int64_t r = 1; r < num_runs; ++r) {
        copy_row<T, kWidth>(from + runs[r].offset, out + runs[r].first);
      }
    }
  }
}

// Every stride-th element. The usual strides have loops that the compiler makes shuffles of.
template <class T>
void pick(const T* x, int64_t stride, int64_t n, T* out) {
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i];
  } else if (stride == 2) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[2 * i];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i * stride];
  }
}

template <class T>
ConvolutionFunctions<T> functions() {
  return {.pack_panel = pack_panel<T>, .pick = pick<T>};
}

}  // namespace

template <>
ConvolutionKernels convolution_kernels<kThisIsa>() {
  return {.f32 = functions<float>(), .f64 = functions<double>()};
}

}  // namespace quern::cpu
