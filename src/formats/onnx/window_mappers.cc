// ONNX convolutions and pools.
// One and three spatial axes are built from the operations for two.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/fail.h"
#include "formats/onnx/spatial_windows.h"

namespace quern::onnx {
namespace {

// x with the padding of its windows made explicit; then no window reaches over an end.
ValueId padded(TensorAlgebra& g, ValueId x, const std::vector<AxisWindow>& windows, double value) {
  for (size_t i = 0; i < windows.size(); ++i) {
    const AxisWindow& w = windows[i];
    // Ceiled windows may need more than the padding at the end, floored ones less.
    const int64_t needed = (w.num_windows() - 1) * w.stride + w.span() - w.extent - w.pad_begin;
    x = g.pad(x, static_cast<int64_t>(i) + 2, w.pad_begin, std::max(needed, w.pad_end), value);
  }
  return x;
}

// A bias for each channel.
ValueId add_bias(TensorAlgebra& g, ValueId y, ValueId bias) {
  if (bias == kNoValue) return y;
  Dims column(g.dims(y).size(), 1);
  if (column.size() > 1) column[1] = count_of(g.dims(bias));
  return g.binary("math.add", y, g.reshape(bias, column));
}

// Convolution of explicitly padded x.
ValueId convolve(TensorAlgebra& g, ValueId x, ValueId weight, ValueId bias,
                 const std::vector<AxisWindow>& w, int64_t groups) {
  const std::array inputs = {x, weight, bias};
  const std::span<const ValueId> used(inputs.data(), bias == kNoValue ? 2 : 3);
  if (w.size() == 1) {
    return g.op("convolution.conv1d", used,
                {{"kernel_size", w[0].kernel},
                 {"stride", w[0].stride},
                 {"dilation", w[0].dilation},
                 {"groups", groups}});
  }
  Attributes attributes{{"groups", groups}};
  const std::string names = w.size() == 2 ? "hw" : "dhw";
  for (size_t i = 0; i < w.size(); ++i) {
    attributes.set(fmt::format("kernel_{}", names[i]), w[i].kernel);
    attributes.set(fmt::format("stride_{}", names[i]), w[i].stride);
    attributes.set(fmt::format("dil_{}", names[i]), w[i].dilation);
  }
  return g.op(w.size() == 2 ? "convolution.conv2d" : "convolution.conv3d", used,
              std::move(attributes));
}

// Groups, strides, dilations and pads over one to three spatial axes.
Result<void> conv(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims weight = g.dims(c.in(1));
  if (weight.size() < 3 || weight.size() > 5 || weight.size() != g.dims(c.in(0)).size())
    return fail::unimplemented("Conv over {} axes has no equivalent.", weight.size());
  QUERN_ASSIGN_OR_RETURN(const auto windows,
                         read_windows(c, g.dims(c.in(0)), {weight.begin() + 2, weight.end()}));
  c.out(0, convolve(g, padded(g, c.in(0), windows, 0), c.in(1), c.in(2), windows,
                    c.integer("group", 1)));
  return c.done();
}

// x with stride - 1 zeros between the elements of an axis.
ValueId spread(TensorAlgebra& g, ValueId x, int64_t axis, int64_t stride) {
  if (stride == 1) return x;
  const int64_t extent = g.dims(x).empty() ? 0 : g.dims(x)[static_cast<size_t>(axis)];
  if (!g.allows(count_of({extent, stride}))) return kNoValue;
  std::vector<int64_t> sources;
  for (int64_t i = 0; i < extent; ++i) {
    // Index `extent` is the one zero that is padded behind the elements.
    if (i > 0) sources.insert(sources.end(), static_cast<size_t>(stride - 1), extent);
    sources.push_back(i);
  }
  return g.take(g.pad(x, axis, 0, 1, 0), axis, sources);
}

// A transposed convolution is a convolution of the spread input with the flipped weight, whose
// channels change places. Padding then cuts, and output padding adds.
Result<void> conv_transpose(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims x = g.dims(c.in(0)), weight = g.dims(c.in(1));
  if (weight.size() < 3 || weight.size() > 5)
    return fail::unimplemented("ConvTranspose over {} axes has no equivalent.", weight.size());
  const size_t rank = weight.size() - 2;
  QUERN_ASSIGN_OR_RETURN(auto windows, read_windows(c, x, {weight.begin() + 2, weight.end()}));
  const int64_t groups = c.integer("group", 1);
  if (groups < 1 || weight[0] % groups != 0)
    return fail::invalid("ConvTranspose has {} groups.", groups);
  const Dims output_padding = c.integers("output_padding", Dims(rank, 0));
  const Dims output_shape = c.integers("output_shape");
  if (weight.size() != x.size() || output_padding.size() != rank ||
      (!output_shape.empty() && output_shape.size() < rank)) {
    return fail::invalid("ConvTranspose has lists of another rank than {}.", rank);
  }
  ValueId y = c.in(0), w = c.in(1);
  std::vector<AxisWindow> plain = windows;
  std::vector<int64_t> full(rank);
  for (size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    AxisWindow& window = windows[i];
    // Extent of the result before padding cuts it: the last input's window ends there.
    full[i] = (window.extent - 1) * window.stride + window.span();
    const std::string auto_pad = c.text("auto_pad", "NOTSET");
    if (!output_shape.empty() || auto_pad.starts_with("SAME")) {
      const int64_t wanted = output_shape.empty() ? window.extent * window.stride
                                                  : output_shape[output_shape.size() - rank + i];
      if (!g.allows(wanted) || !g.allows(output_padding[i])) return c.done();
      // Below 0 where the output is larger than what the inputs reach: zeros follow at the end.
      const int64_t total = full[i] + output_padding[i] - wanted;
      const int64_t first = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.pad_begin = std::max<int64_t>(first, 0);
      window.pad_end = total - window.pad_begin;
    }
    // span - 1 on both sides: the first and last taps of the kernel reach each input alone.
    y = g.pad(spread(g, y, axis, window.stride), axis, window.span() - 1, window.span() - 1, 0);
    std::vector<int64_t> flipped(static_cast<size_t>(window.kernel));
    for (size_t k = 0; k < flipped.size(); ++k)
      flipped[k] = window.kernel - 1 - static_cast<int64_t>(k);
    w = g.take(w, axis, flipped);
    plain[i].stride = 1;
  }
  // [I, O / groups, ...] to [O, I / groups, ...].
  Dims grouped{groups, weight[0] / groups, weight[1]}, order{0, 2, 1},
      joined{groups * weight[1], weight[0] / groups};
  for (size_t i = 0; i < rank; ++i) {
    grouped.push_back(weight[i + 2]);
    order.push_back(static_cast<int64_t>(i) + 3);
    joined.push_back(weight[i + 2]);
  }
  w = g.reshape(g.permute(g.reshape(w, grouped), order), joined);
  y = convolve(g, y, w, kNoValue, plain, groups);
  for (size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    const int64_t end = full[i] - windows[i].pad_end + output_padding[i];
    y = g.slice(y, axis, windows[i].pad_begin, std::min(end, full[i]));
    y = g.pad(y, axis, 0, std::max<int64_t>(end - full[i], 0), 0);
  }
  c.out(0, add_bias(g, y, c.in(2)));
  return c.done();
}

// Pools
// --------------------------------------------------------------------------------------------

// One axis after the other, which is the same for maxima and for sums: x as [1, before, n, after].
ValueId pool_axes(TensorAlgebra& g, std::string_view id, ValueId x,
                  const std::vector<AxisWindow>& windows) {
  for (size_t i = 0; i < windows.size(); ++i) {
    const Dims dims = g.dims(x);
    if (dims.empty()) return kNoValue;
    const auto axis = static_cast<int64_t>(i) + 2;
    const int64_t before = count_of({dims.begin(), dims.begin() + axis});
    const int64_t after = count_of({dims.begin() + axis + 1, dims.end()});
    const ValueId rows = g.reshape(x, {1, before, dims[i + 2], after});
    const ValueId pooled = g.op(id, {rows},
                                {{"kernel_h", windows[i].kernel},
                                 {"kernel_w", int64_t{1}},
                                 {"stride_h", windows[i].stride},
                                 {"dil_h", windows[i].dilation}});
    Dims result = dims;
    result[i + 2] = windows[i].num_windows();
    x = g.reshape(pooled, result);
  }
  return x;
}

// The indices of the maxima are refused: they have no equivalent.
Result<void> max_pool(NodeContext& c) {
  TensorAlgebra& g = c.g();
  if (c.wants(1)) return fail::unimplemented("The indices of a max pool have no equivalent.");
  QUERN_ASSIGN_OR_RETURN(const auto windows, read_windows(c, g.dims(c.in(0)), {}));
  const DType dtype = g.dtype(c.in(0));
  const ValueId x = is_float(dtype) ? c.in(0) : g.cast(c.in(0), DType::kF32);
  const ValueId y =
      pool_axes(g, "pooling.max_pool2d",
                padded(g, x, windows, -std::numeric_limits<double>::infinity()), windows);
  c.out(0, g.cast(y, dtype));
  return c.done();
}

// For each window of an axis, how many of its taps lie in [first, last).
std::vector<double> taps_inside(const AxisWindow& w, int64_t first, int64_t last) {
  std::vector<double> counts;
  for (int64_t window = 0; window < w.num_windows(); ++window) {
    int64_t count = 0;
    for (int64_t k = 0; k < w.kernel; ++k) {
      const int64_t at = window * w.stride + k * w.dilation - w.pad_begin;
      if (at >= first && at < last) ++count;
    }
    counts.push_back(static_cast<double>(count));
  }
  return counts;
}

// The sum over each window of zero-padded x.
ValueId sum_windows(TensorAlgebra& g, ValueId x, const std::vector<AxisWindow>& windows) {
  double taps = 1;
  for (const AxisWindow& w : windows) taps *= static_cast<double>(w.kernel);
  return g.scale(pool_axes(g, "pooling.avg_pool2d", padded(g, x, windows, 0), windows), taps);
}

// Pads count or do not, as the attribute says.
Result<void> average_pool(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const auto windows, read_windows(c, g.dims(c.in(0)), {}));
  const bool counts_padding = c.integer("count_include_pad", 0) != 0;
  ValueId y = sum_windows(g, c.in(0), windows);
  for (size_t i = 0; i < windows.size(); ++i) {
    const AxisWindow& w = windows[i];
    if (!g.allows(count_of({w.num_windows(), w.kernel}))) return c.done();
    const int64_t pad_begin = counts_padding ? w.pad_begin : 0,
                  pad_end = counts_padding ? w.pad_end : 0;
    // The count of a window is the product of the counts along its axes: one division for each.
    std::vector<double> counts = taps_inside(w, -pad_begin, w.extent + pad_end);
    Dims column(windows.size() - i, 1);
    column[0] = static_cast<int64_t>(counts.size());
    y = g.binary("elementwise.div", y, g.constant(g.dtype(y), column, std::move(counts)));
  }
  c.out(0, y);
  return c.done();
}

// (sum |x|^p)^(1/p) of each window.
Result<void> lp_pool(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const auto windows, read_windows(c, g.dims(c.in(0)), {}));
  const auto p = static_cast<double>(c.integer("p", 2));
  const ValueId powers = g.with_scalar("math.pow", g.op("elementwise.abs", {c.in(0)}), p);
  c.out(0, g.with_scalar("math.pow", sum_windows(g, powers, windows), 1 / p));
  return c.done();
}

// All but the first two.
Dims spatial_axes(const Dims& dims) {
  Dims axes;
  for (size_t i = 2; i < dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}
// Means and maxima of all spatial elements.
Result<void> global_average_pool(NodeContext& c) {
  c.out(0, c.g().reduce("mean", c.in(0), spatial_axes(c.g().dims(c.in(0))), true));
  return c.done();
}
Result<void> global_max_pool(NodeContext& c) {
  c.out(0, c.g().reduce("reduce_max", c.in(0), spatial_axes(c.g().dims(c.in(0))), true));
  return c.done();
}

// Columns of image blocks added back into an image: a product with a matrix of zeros and ones.
Result<void> col2im(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims x = g.dims(c.in(0));
  QUERN_ASSIGN_OR_RETURN(const Dims image, c.ints(1));
  QUERN_ASSIGN_OR_RETURN(const Dims block, c.ints(2));
  const int64_t taps = count_of(block);
  if (x.size() != 3 || taps < 1 || x[1] % taps != 0)
    return fail::invalid("Col2Im cannot divide its columns.");
  Dims shape{x[0], x[1] / taps};
  shape.insert(shape.end(), image.begin(), image.end());
  QUERN_ASSIGN_OR_RETURN(const auto windows, read_windows(c, shape, block));
  const int64_t pixels = count_of(image);
  if (!g.allows(count_of({taps, x[2], pixels}))) return c.done();
  for (const AxisWindow& w : windows) {
    if (w.num_windows() < 1) return fail::invalid("Col2Im has no blocks.");
  }
  std::vector<double> places(static_cast<size_t>(taps * x[2] * pixels), 0);
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t column = 0; column < x[2]; ++column) {
      int64_t rest_tap = tap, rest_column = column, stride = 1, pixel = 0;
      bool is_inside = true;
      for (size_t i = image.size(); i > 0; --i) {
        const AxisWindow& w = windows[i - 1];
        // Tap and column are numbers with a digit for each axis, the last axis lowest.
        const int64_t at = rest_column % w.num_windows() * w.stride +
                           rest_tap % w.kernel * w.dilation - w.pad_begin;
        is_inside = is_inside && at >= 0 && at < w.extent;
        pixel += at * stride;
        stride *= w.extent;
        rest_column /= w.num_windows();
        rest_tap /= w.kernel;
      }
      if (is_inside) places[static_cast<size_t>((tap * x[2] + column) * pixels + pixel)] += 1;
    }
  }
  const ValueId rows = g.reshape(c.in(0), {shape[0] * shape[1], taps * x[2]});
  c.out(0, g.reshape(g.op("math.matmul",
                          {rows, g.constant(g.dtype(rows), {taps * x[2], pixels}, places)}),
                     shape));
  return c.done();
}

constexpr std::array kMappers = {
    OpMapper{"AveragePool", average_pool},
    OpMapper{"Col2Im", col2im},
    OpMapper{"Conv", conv},
    OpMapper{"ConvTranspose", conv_transpose},
    OpMapper{"GlobalAveragePool", global_average_pool},
    OpMapper{"GlobalMaxPool", global_max_pool},
    OpMapper{"LpPool", lp_pool},
    OpMapper{"MaxPool", max_pool},
};

}  // namespace

std::span<const OpMapper> window_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
