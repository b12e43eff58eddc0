// Sliding windows over the spatial axes of convolution and pooling.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/op.h"

namespace quern {

// One spatial axis. Tap t of output o reads input o * stride - pad + t * dilation.
struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t pad = 0;
  int64_t dilation = 1;

  int64_t span() const { return dilation * (kernel - 1) + 1; }  // inputs from first to last tap
  int64_t input_of(int64_t output, int64_t tap) const {
    return output * stride - pad + tap * dilation;
  }
  // Number of outputs; with `ceil` also a last window that starts inside the input but does not
  // fit. 0 where no window fits.
  int64_t num_outputs(int64_t input, bool ceil) const;
};

// Depth, height, width; a missing axis has extent 1 and the default window.
using Window3 = std::array<Window, 3>;
using Extent3 = std::array<int64_t, 3>;

// The attributes kernel_, stride_, pad_ and dil_ with the suffixes d, h, w of `axes` ("hw", "dhw").
// Errors: a value out of range (kernel, stride, dilation from 1, padding from 0, below 2^31).
Result<Window3> read_windows(const Attributes& attributes, std::string_view axes);
// The windows of convolution.conv1d, conv2d and conv3d by the rank of x: 3, 4 or 5.
Result<Window3> read_convolution_windows(const Attributes& attributes, int rank);
// The attributes that read_windows() reads: the kernel must be given, stride and dilation are 1 and
// padding 0 by default.
std::vector<AttributeDef> window_attributes(std::string_view axes);

// The spatial extents of [N, C, ...], which must be constants.
Result<Extent3> spatial_extents(std::string_view port, const TensorType& type);
// The same at run time.
Extent3 spatial_extents(const Shape& shape);

// Errors: a number out of its range; `name` is the letter of the axis in the message.
Result<void> check_window(std::string_view name, const Window& window);

}  // namespace quern
