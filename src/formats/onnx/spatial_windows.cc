// Attributes to windows.
// Padding may be given or asked for; both become numbers of elements at either side.
#include "formats/onnx/spatial_windows.h"

#include <algorithm>

#include "base/fail.h"

namespace quern::onnx {
namespace {

// SAME_*: as many windows as the stride needs to cover the input, the odd element at one end.
void pad_to_same(AxisWindow& w, bool is_upper) {
  const int64_t windows = (w.extent + w.stride - 1) / w.stride;
  const int64_t total = std::max<int64_t>((windows - 1) * w.stride + w.span() - w.extent, 0);
  w.pad_begin = is_upper ? total / 2 : total - total / 2;
  w.pad_end = total - w.pad_begin;
}

}  // namespace

// 0 where the window does not fit.
int64_t AxisWindow::num_windows() const {
  const int64_t room = extent + pad_begin + pad_end - span();
  if (room < 0) return 0;
  int64_t windows = (is_ceil ? (room + stride - 1) / stride : room / stride) + 1;
  // A last window that would begin in the padding at the end is dropped.
  if (is_ceil && (windows - 1) * stride >= extent + pad_begin) --windows;
  return windows;
}

// Attributes of convolutions and pools, with auto_pad resolved. Errors: sizes that make no window.
Result<std::vector<AxisWindow>> read_windows(const NodeContext& c, const Dims& x,
                                             const Dims& kernel) {
  if (x.size() < 3)
    return fail::invalid("{} needs [N, C, ...]; the input has rank {}.", c.node().op_type,
                         x.size());
  const size_t rank = x.size() - 2;
  const Dims ones(rank, 1);
  const Dims kernels = c.integers("kernel_shape", kernel), strides = c.integers("strides", ones);
  const Dims dilations = c.integers("dilations", ones),
             pads = c.integers("pads", Dims(2 * rank, 0));
  if (kernels.size() != rank || strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank) {
    return fail::invalid("{} has windows of another rank than {}.", c.node().op_type, rank);
  }
  const std::string auto_pad = c.text("auto_pad", "NOTSET");
  std::vector<AxisWindow> windows;
  for (size_t i = 0; i < rank; ++i) {
    AxisWindow w{x[i + 2],
                 kernels[i],
                 strides[i],
                 dilations[i],
                 pads[i],
                 pads[i + rank],
                 c.integer("ceil_mode", 0) != 0};
    const int64_t largest =
        std::max({w.kernel, w.stride, w.dilation, w.pad_begin, w.pad_end, w.extent});
    const int64_t smallest =
        std::min({w.kernel - 1, w.stride - 1, w.dilation - 1, w.pad_begin, w.pad_end});
    // Sums and products of such numbers stay far below 2^63.
    if (largest > 1 << 24 || smallest < 0)
      return fail::invalid("{} has an impossible window.", c.node().op_type);
    if (auto_pad == "VALID") w.pad_begin = w.pad_end = 0;
    if (auto_pad.starts_with("SAME")) pad_to_same(w, auto_pad == "SAME_UPPER");
    windows.push_back(w);
  }
  return windows;
}

}  // namespace quern::onnx
