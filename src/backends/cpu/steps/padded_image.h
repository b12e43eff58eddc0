// Images with their padding written out, so that taps of windows are plain offsets.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/convolution_kernels.h"
#include "ops/window.h"

namespace quern::cpu {

// How one channel is laid out: depth x rows, each row split by the stride along w into phases:
//   row of x with padding  p0 p1 p2 p3 p4 p5 p6, stride 2   ->   p0 p2 p4 p6 | p1 p3 p5 -
// so that neighbouring outputs read neighbouring elements at every tap.
class PaddedImage {
 public:
  PaddedImage(const Window3& windows, const Extent3& in, const Extent3& out);

  int64_t channel_size() const { return depth_ * rows_ * row_size_; }
  // For each tap (kd, kh, kw) the offset from an output's place.
  std::vector<int64_t> tap_offsets() const;
  // The place of an output position, counted in row-major order.
  int64_t place(int64_t position) const {
    const int64_t w = position % out_[2], h = position / out_[2] % out_[1];
    const int64_t d = position / (out_[2] * out_[1]);
    return row_place(d, h) + w;
  }
  // Of the first position of an output row.
  int64_t row_place(int64_t d, int64_t h) const {
    return (d * windows_[0].stride * rows_ + h * windows_[1].stride) * row_size_;
  }
  // Runs of `width` positions from `first` on (fewer at the end) that lie side by side.
  int64_t find_runs(int64_t first, int64_t width, TapRun* runs) const;

  // Writes one channel from its plane; `pick` takes every stride-th element.
  template <class T>
  void fill(const T* plane, void (*pick)(const T* x, int64_t stride, int64_t n, T* out),
            T* image) const;

 private:
  Window3 windows_;
  Extent3 in_;
  Extent3 out_;
  int64_t depth_;
  int64_t rows_;
  int64_t phase_size_;
  int64_t row_size_;
};

extern template void PaddedImage::fill(const float*,
                                       void (*)(const float*, int64_t, int64_t, float*),
                                       float*) const;
extern template void PaddedImage::fill(const double*,
                                       void (*)(const double*, int64_t, int64_t, double*),
                                       double*) const;

}  // namespace quern::cpu
