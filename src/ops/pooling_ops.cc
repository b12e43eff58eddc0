// Pooling over [N, C, H, W]: maximum and average of windows, fixed or adaptive.
#include <limits>
#include <vector>

#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/max_min.h"
#include "ops/register_ops.h"
#include "ops/window.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// The input indices of one axis of a window: first, first + step, ... below end, in range.
struct Taps {
  int64_t first, end, step;
};

// The taps of a window that lie in the input. A window that starts in the padding begins at its
// first tap inside, which dilation may put past index 0.
// For padding 1, dilation 2 and three taps the first window starts at -1 and its taps inside are 1
// and 3:
//   index   -1  0  1  2  3
//   tap      0     1     2      first = 1, end = 4, step = 2
Taps taps_of(const Window& window, int64_t output, int64_t extent) {
  int64_t first = window.input_of(output, 0);
  // The distance to index 0, rounded up to whole steps of the dilation.
  if (first < 0) first += (-first + window.dilation - 1) / window.dilation * window.dilation;
  const int64_t end = window.input_of(output, window.kernel - 1) + 1;
  return {first, std::min(end, extent), window.dilation};
}

// [floor(o * in / out), ceil((o + 1) * in / out)).
// No window is empty; two neighbours share an element where `outputs` does not divide the extent.
Taps adaptive_taps(int64_t output, int64_t extent, int64_t outputs) {
  return {output * extent / outputs, ((output + 1) * extent + outputs - 1) / outputs, 1};
}

// Folds over the elements of a window, row by row ----------------------------------------------

// The largest element; NaN spreads, +0 is above -0.
struct MaxFold {
  template <class T>
  static T run(const T* plane, int64_t width, const Taps& rows, const Taps& columns) {
    // A maximum starts from its first element; -infinity is the result where there is none.
    bool is_first = true;
    T result = -std::numeric_limits<T>::infinity();
    for (int64_t i = rows.first; i < rows.end; i += rows.step) {
      for (int64_t j = columns.first; j < columns.end; j += columns.step) {
        const T x = plane[i * width + j];
        result = is_first ? x : strict_max(result, x);
        is_first = false;
      }
    }
    return result;
  }
};

// The mean of the taps inside the input ("count_include_pad = False" in PyTorch).
struct MeanFold {
  // In window order from +0, then one division. Without taps that is 0 / 0, NaN.
  template <class T>
  static T run(const T* plane, int64_t width, const Taps& rows, const Taps& columns) {
    T sum = 0;
    int64_t count = 0;
    for (int64_t i = rows.first; i < rows.end; i += rows.step) {
      for (int64_t j = columns.first; j < columns.end; j += columns.step, ++count) {
        sum = sum + plane[i * width + j];
      }
    }
    return sum / static_cast<T>(count);
  }
};

// y[n, c, i, j] = fold of the window that `taps(axis, output)` gives.
template <class T, class Fold, class TapsOf>
void pool(const KernelContext& context, TapsOf&& taps) {
  const Shape& in = context.inputs[0].shape;
  const Shape& out = context.outputs[0].shape;
  const FloatInput<T> x(context.inputs[0]);
  FloatOutput<T> y(context.outputs[0]);
  // index = ((n C + c) H' + i) W' + j; n and c together name a plane.
  for (int64_t index = 0; index < y.size(); ++index) {
    const int64_t column = index % out[3], row = index / out[3] % out[2];
    const int64_t plane = index / (out[3] * out[2]);
    y[index] = Fold::template run<T>(x.data() + plane * in[2] * in[3], in[3], taps(2, row),
                                     taps(3, column));
  }
}

// Windows of fixed size at fixed steps.
template <class Fold>
struct PoolKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    QUERN_ASSIGN_OR_RETURN(const Window3 windows, read_windows(context.attributes, "hw"));
    const Shape& in = context.inputs[0].shape;
    // Window3 counts depth, height, width: axis 2 of the tensor is its entry 1.
    pool<T, Fold>(context, [&](int axis, int64_t output) {
      return taps_of(windows[static_cast<size_t>(axis - 1)], output, in[axis]);
    });
    return {};
  }
};

// Windows that divide the input evenly into the outputs.
template <class Fold>
struct AdaptivePoolKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const Shape& in = context.inputs[0].shape;
    const Shape& out = context.outputs[0].shape;
    pool<T, Fold>(context, [&](int axis, int64_t output) {
      return adaptive_taps(output, in[axis], out[axis]);
    });
    return {};
  }
};

// Type rules --------------------------------------------------------------------------------

// Rank 4, floats, and constant spatial extents.
Result<Extent3> check_image(const TensorType& x) {
  QUERN_TRY(type_rules::expect_float("x", x));
  QUERN_TRY(type_rules::expect_rank("x", x, 4));
  return spatial_extents("x", x);
}

// The formula of PyTorch's MaxPool2d. More padding than half the kernel could leave a window
// without any element, so it is refused.
Result<Types> infer_pool(const InferContext& context) {
  TensorType y = *context.inputs[0];
  QUERN_ASSIGN_OR_RETURN(const Extent3 extents, check_image(y));
  QUERN_ASSIGN_OR_RETURN(const Window3 windows, read_windows(context.attributes, "hw"));
  for (const size_t axis : {size_t{1}, size_t{2}}) {
    // A window of size k with up to k / 2 of padding touches the input, unless dilation spreads its
    // taps: then a maximum of no taps is -infinity.
    const Window& window = windows[axis];
    if (window.pad > window.kernel / 2) {
      return fail::invalid("The padding {} of axis {} is above half the kernel, {}.", window.pad,
                           axis + 1, window.kernel);
    }
    const int64_t outputs = window.num_outputs(extents[axis], context.attributes.flag("ceil"));
    if (outputs < 1) {
      return fail::invalid("Port 'x' has type {}; a window of {} does not fit in axis {}.",
                           context.inputs[0]->to_string(), window.span(), axis + 1);
    }
    y.dims[axis + 1] = Dim::constant(outputs);
  }
  return Types{y};
}

// The attributes give the spatial extents of the output.
Result<Types> infer_adaptive_pool(const InferContext& context) {
  TensorType y = *context.inputs[0];
  QUERN_ASSIGN_OR_RETURN(const Extent3 extents, check_image(y));
  for (const size_t axis : {size_t{1}, size_t{2}}) {
    const int64_t outputs = context.attributes.integer(axis == 1 ? "out_h" : "out_w");
    // An empty input has no windows to divide into.
    if (outputs < 1 || outputs >= int64_t{1} << 31 || extents[axis] < 1) {
      return fail::invalid("Axis {} of {} cannot be pooled to an extent of {}.", axis + 1,
                           context.inputs[0]->to_string(), outputs);
    }
    y.dims[axis + 1] = Dim::constant(outputs);
  }
  return Types{y};
}

// The parts of a definition that the four operations share.
OpDef pool_op(std::string id, std::string doc, OpDef::Infer infer, OpDef::Kernel kernel,
              std::vector<AttributeDef> attributes) {
  return {.id = std::move(id),
          .doc = std::move(doc),
          .inputs = {port("x")},
          .outputs = {port("y")},
          .attributes = std::move(attributes),
          .infer = infer,
          .reference = kernel};
}

}  // namespace

void register_pooling_ops(OpRegistry& registry) {
  auto fixed = window_attributes("hw");
  fixed.push_back(flag("ceil", false, "Keep a last window that does not fit."));
  const std::vector<AttributeDef> adaptive = {integer("out_h", kRequired, "Rows of the output."),
                                              integer("out_w", kRequired, "Its columns.")};
  registry.add(
      with_notes(pool_op("pooling.max_pool2d",
                         "The largest element of each window, folded row by row; NaN spreads; "
                         "-inf where all taps are padding. Padding is at most half the kernel.",
                         infer_pool, float_kernel<PoolKernel<MaxFold>>, fixed),
                 "x [N, C, H, W] floats; y [N, C, H', W'] of its dtype, H' = (H "
                 "+ 2 pad - dil (kernel - 1) - 1) / stride + 1, rounded up with "
                 "ceil.",
                 "A NaN in a window gives NaN; +0 is above -0. N = 0 gives "
                 "none; windows that do not fit are refused.",
                 0));
  registry.add(
      with_notes(pool_op("pooling.avg_pool2d",
                         "The sum of each window row by row, divided by the number of its taps "
                         "inside the input; NaN where there is none.",
                         infer_pool, float_kernel<PoolKernel<MeanFold>>, fixed),
                 "x [N, C, H, W] floats; y [N, C, H', W'] of its dtype, H' = (H "
                 "+ 2 pad - dil (kernel - 1) - 1) / stride + 1, rounded up with "
                 "ceil.",
                 "NaN and infinities spread to their windows. N = 0 gives none; "
                 "windows that do not fit are refused.",
                 8));
  const std::string windows = " Window o of an axis: [floor(o in / out), ceil((o + 1) in / out)).";
  registry.add(with_notes(
      pool_op("pooling.adaptive_max_pool2d", "The largest element of each window." + windows,
              infer_adaptive_pool, float_kernel<AdaptivePoolKernel<MaxFold>>, adaptive),
      "x [N, C, H, W] floats with H, W above 0; y [N, C, out_h, "
      "out_w] of its dtype.",
      "A NaN in a window gives NaN; +0 is above -0. N = 0 gives none.", 0));
  registry.add(
      with_notes(pool_op("pooling.adaptive_avg_pool2d",
                         "The sum of each window row by row, divided by its count." + windows,
                         infer_adaptive_pool, float_kernel<AdaptivePoolKernel<MeanFold>>, adaptive),
                 "x [N, C, H, W] floats with H, W above 0; y [N, C, out_h, "
                 "out_w] of its dtype.",
                 "NaN and infinities spread to their windows. N = 0 gives none.", 8));
}

}  // namespace quern
