// Layout and filling of padded images.
#include "backends/cpu/steps/padded_image.h"

#include <algorithm>

#include "base/checked_math.h"

namespace quern::cpu {

// Rows and columns that no window reads are left out.
PaddedImage::PaddedImage(const Window3& windows, const Extent3& in, const Extent3& out)
    : windows_(windows),
      in_(in),
      out_(out),
      depth_((out[0] - 1) * windows[0].stride + windows[0].span()),
      rows_((out[1] - 1) * windows[1].stride + windows[1].span()),
      phase_size_(
          ceil_divide((out[2] - 1) * windows[2].stride + windows[2].span(), windows[2].stride)),
      row_size_(phase_size_ * windows[2].stride) {}

// Taps in the weight's memory order. Along w a tap of column c lies in phase c mod stride.
std::vector<int64_t> PaddedImage::tap_offsets() const {
  std::vector<int64_t> offsets;
  for (int64_t d = 0; d < windows_[0].kernel; ++d) {
    for (int64_t h = 0; h < windows_[1].kernel; ++h) {
      for (int64_t w = 0; w < windows_[2].kernel; ++w) {
        const int64_t row = d * windows_[0].dilation * rows_ + h * windows_[1].dilation;
        const int64_t column = w * windows_[2].dilation;
        offsets.push_back(row * row_size_ + column % windows_[2].stride * phase_size_ +
                          column / windows_[2].stride);
      }
    }
  }
  return offsets;
}

// Positions of one output row lie side by side; each row starts another run.
int64_t PaddedImage::find_runs(int64_t first, int64_t width, TapRun* runs) const {
  const int64_t end = std::min(first + width, out_[0] * out_[1] * out_[2]);
  int64_t count = 0;
  for (int64_t position = first; position < end;) {
    runs[count++] = {position - first, place(position)};
    position = (position / out_[2] + 1) * out_[2];
  }
  return count;
}

// Row by row: zeros before, elements of the phase, zeros behind.
template <class T>
void PaddedImage::fill(const T* plane, void (*pick)(const T* x, int64_t stride, int64_t n, T* out),
                       T* image) const {
  const Window& across = windows_[2];
  for (int64_t d = 0; d < depth_; ++d) {
    for (int64_t h = 0; h < rows_; ++h, image += row_size_) {
      const int64_t from_d = d - windows_[0].pad, from_h = h - windows_[1].pad;
      const bool is_inside = from_d >= 0 && from_d < in_[0] && from_h >= 0 && from_h < in_[1];
      if (!is_inside) {
        std::fill_n(image, row_size_, T(0));
        continue;
      }
      const T* row = plane + (from_d * in_[1] + from_h) * in_[2];
      for (int64_t phase = 0; phase < across.stride; ++phase) {
        T* to = image + phase * phase_size_;
        // Element j of the phase is column j * stride + phase - pad of the row.
        const int64_t begin = std::clamp<int64_t>(
            ceil_divide(std::max<int64_t>(0, across.pad - phase), across.stride), 0, phase_size_);
        const int64_t columns = in_[2] - (begin * across.stride + phase - across.pad);
        const int64_t end = std::clamp<int64_t>(
            begin + ceil_divide(std::max<int64_t>(0, columns), across.stride), begin, phase_size_);
        std::fill_n(to, begin, T(0));
        if (end > begin) {
          pick(row + begin * across.stride + phase - across.pad, across.stride, end - begin,
               to + begin);
        }
        std::fill_n(to + end, phase_size_ - end, T(0));
      }
    }
  }
}

template void PaddedImage::fill(const float*, void (*)(const float*, int64_t, int64_t, float*),
                                float*) const;
template void PaddedImage::fill(const double*, void (*)(const double*, int64_t, int64_t, double*),
                                double*) const;

}  // namespace quern::cpu
