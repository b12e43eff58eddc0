// The windows of a convolution or pool over the spatial axes of an ONNX node.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/onnx/node_context.h"

namespace quern::onnx {

// One spatial axis. Padding may differ at the two ends.
struct AxisWindow {
  int64_t extent = 0;  // of the input, without padding
  // One axis of a window, in elements.
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  bool is_ceil = false;  // keep a last window that does not fit

  // Elements from the first to the last that a window touches.
  int64_t span() const { return dilation * (kernel - 1) + 1; }
  // Windows of the output; a ceiled last one must begin inside the input or its front padding.
  int64_t num_windows() const;
};

// The axes of x [N, C, spatial...] from kernel_shape, strides, dilations, pads, auto_pad and
// ceil_mode; `kernel` stands for kernel_shape where the node has none.
// Errors: kInvalidArgument for lists of another length or windows that are impossible.
Result<std::vector<AxisWindow>> read_windows(const NodeContext& c, const Dims& x,
                                             const Dims& kernel);

}  // namespace quern::onnx
