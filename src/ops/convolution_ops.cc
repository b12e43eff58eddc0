// Convolutions in one, two and three dimensions, and the transposed one in two.
#include <vector>

#include "base/checked_math.h"
#include "base/fail.h"
#include "ops/blocked.h"
#include "ops/elementwise.h"
#include "ops/register_ops.h"
#include "ops/window.h"

namespace quern {
namespace {

using namespace op_parts;
using namespace type_rules;
using Types = std::vector<TensorType>;

// The windows that the attributes of each operation describe.
// A function with the rank as a template parameter, so that it can be an argument of the templates
// below.
template <int rank>
Result<Window3> windows_of_rank(const Attributes& attributes) {
  return read_convolution_windows(attributes, rank);
}

// Channels, groups and the kernel's extents of x [N, C, ...] with a weight [A, B, ...].
// `in` and `out` are all channels, not those of a group; weight [out, in / groups, kernel...].
struct ConvShape {
  int64_t in, out, groups;
};

// The extents of the weight's kernel must be those of the attributes.
// x and weight have the rank of the operation, weight and bias are no wider than x. The spatial
// axes 2 .. rank - 1 are the last ones of Window3: axis 3 - rank + axis.
Result<void> check_ports(const InferContext& context, const Window3& windows, int rank) {
  const TensorType& x = *context.inputs[0];
  const TensorType& weight = *context.inputs[1];
  QUERN_TRY(expect_float("x", x));
  QUERN_TRY(expect_rank("x", x, rank));
  QUERN_TRY(expect_float("weight", weight));
  QUERN_TRY(expect_rank("weight", weight, rank));
  QUERN_TRY(expect_no_wider("weight", &weight, x));
  QUERN_TRY(expect_no_wider("bias", context.inputs[2], x));
  for (int axis = 2; axis < rank; ++axis) {
    const int64_t taps = windows[static_cast<size_t>(3 - rank + axis)].kernel;
    QUERN_TRY(expect_dim("weight", weight, axis, Dim::constant(taps), "the kernel's extent"));
  }
  return {};
}

// The attributes `in` and `out`, where given, repeat the channels of the tensors.
// 0 says nothing. A manifest may repeat the extents; they are checked, not trusted.
Result<void> check_declared(const Attributes& attributes, const ConvShape& shape) {
  for (const auto& [name, found] : {std::pair{"in", shape.in}, std::pair{"out", shape.out}}) {
    const int64_t wanted = attributes.integer(name);
    if (wanted == 0 || wanted == found) continue;
    return fail::invalid("Attribute '{}' is {}; the tensors have {} channels.", name, wanted,
                         found);
  }
  return {};
}

// The weight is [out, in / groups, kernel...], or transposed [in, out / groups, kernel...].
Result<ConvShape> check_channels(const InferContext& context, bool is_transposed) {
  const TensorType& x = *context.inputs[0];
  const TensorType& weight = *context.inputs[1];
  ConvShape shape{.in = 0, .out = 0, .groups = context.attributes.integer("groups")};
  QUERN_ASSIGN_OR_RETURN(shape.in, constant_dim("x", x, 1));
  QUERN_ASSIGN_OR_RETURN(const int64_t first, constant_dim("weight", weight, 0));
  QUERN_ASSIGN_OR_RETURN(const int64_t second, constant_dim("weight", weight, 1));
  // -1 is no number of channels, so an overflow fails the checks below.
  const int64_t across = checked_multiply(second, shape.groups).value_or(-1);
  shape.out = is_transposed ? across : first;
  // Channels of 0 pass: the sums are empty then. The other two conditions keep the divisions of the
  // kernels exact.
  const bool is_divided = shape.groups >= 1 && shape.in % shape.groups == 0 && shape.out >= 0 &&
                          shape.out % shape.groups == 0;
  if (!is_divided || (is_transposed ? first : across) != shape.in) {
    return fail::invalid("Ports 'x' {} and 'weight' {} do not fit in {} groups.", x.to_string(),
                         weight.to_string(), shape.groups);
  }
  QUERN_TRY(
      expect_vector("bias", context.inputs[2], Dim::constant(shape.out), "the output channels"));
  QUERN_TRY(check_declared(context.attributes, shape));
  return shape;
}

// [N, C, ...] to [N, out, ...] with each spatial extent (in + 2 pad - span) / stride + 1, rounded
// down.
template <Result<Window3> (*windows_of)(const Attributes&), int rank>
Result<Types> infer_convolution(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const Window3 windows, windows_of(context.attributes));
  QUERN_TRY(check_ports(context, windows, rank));
  QUERN_ASSIGN_OR_RETURN(const ConvShape shape, check_channels(context, false));
  TensorType y = *context.inputs[0];
  QUERN_ASSIGN_OR_RETURN(const Extent3 extents, spatial_extents("x", y));
  y.dims[1] = Dim::constant(shape.out);
  for (int axis = 2; axis < rank; ++axis) {
    const auto i = static_cast<size_t>(3 - rank + axis);
    // Spatial extents are constants (spatial_extents); N may be a symbol.
    const int64_t outputs = windows[i].num_outputs(extents[i], false);
    if (outputs < 1) {
      return fail::invalid("Port 'x' has type {}; a window of {} does not fit in axis {}.",
                           context.inputs[0]->to_string(), windows[i].span(), axis);
    }
    y.dims[static_cast<size_t>(axis)] = Dim::constant(outputs);
  }
  return Types{y};
}

// Geometry that the kernels share.
// A tensor [N, C, D, H, W] in row-major order, missing axes of extent 1: channel c of sample n
// begins at (n * channels + c) * plane().
struct Planes {
  int64_t batch, channels;
  Extent3 extents;
  int64_t plane() const { return extents[0] * extents[1] * extents[2]; }
  explicit Planes(const Shape& shape)
      : batch(shape[0]), channels(shape[1]), extents(spatial_extents(shape)) {}
};

// Calls f(position) for each position of a box in row-major order.
// The last axis is the fastest, as in memory and as the order of k demands.
template <class F>
void for_each_position(const Extent3& extents, F&& f) {
  for (int64_t d = 0; d < extents[0]; ++d) {
    for (int64_t h = 0; h < extents[1]; ++h) {
      for (int64_t w = 0; w < extents[2]; ++w) f(Extent3{d, h, w});
    }
  }
}

// Row-major index of a position in its box.
int64_t flat_index(const Extent3& position, const Extent3& extents) {
  return (position[0] * extents[1] + position[1]) * extents[2] + position[2];
}

// The input position of a tap, or false in the padding.
// Padding is not stored: a position outside the extents is one of the padding. `position` is filled
// up to the axis that fails.
bool input_position(const Window3& windows, const Extent3& output, const Extent3& tap,
                    const Extent3& extents, Extent3& position) {
  for (size_t i = 0; i < 3; ++i) {
    position[i] = windows[i].input_of(output[i], tap[i]);
    if (position[i] < 0 || position[i] >= extents[i]) return false;
  }
  return true;
}

// The output channel's sum at one position: k runs over (channel of the group, taps).
// `x` begins at the group's first channel, `weight` at the filter of the output channel. k counts
// the filter's elements in memory order, also where a tap is skipped, so that the blocks of 256
// begin at the same elements for all outputs.
template <class T>
T convolve(const T* x, const T* weight, const Planes& in, int64_t group_channels,
           const Window3& windows, const Extent3& taps, const Extent3& output) {
  BlockedFold<T> fold;
  int64_t k = 0;
  for (int64_t channel = 0; channel < group_channels; ++channel) {
    for_each_position(taps, [&](const Extent3& tap) {
      Extent3 position;
      if (input_position(windows, output, tap, in.extents, position)) {
        fold.add(x[channel * in.plane() + flat_index(position, in.extents)] * weight[k]);
      } else {
        fold.skip();
      }
      ++k;
    });
  }
  return fold.result();
}

// Output i is (n, channel) of the plane order. Its group is channel / group_out, whose input
// channels are the group_in from group * group_in on:
//   weight: [channel][channel of the group][kd][kh][kw], `filter` elements for each output channel
template <Result<Window3> (*windows_of)(const Attributes&)>
struct ConvolutionKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    QUERN_ASSIGN_OR_RETURN(const Window3 windows, windows_of(context.attributes));
    const Planes in(context.inputs[0].shape), out(context.outputs[0].shape);
    const int64_t groups = context.attributes.integer("groups");
    const int64_t group_in = in.channels / groups, group_out = out.channels / groups;
    const Extent3 taps = {windows[0].kernel, windows[1].kernel, windows[2].kernel};
    const int64_t filter = group_in * taps[0] * taps[1] * taps[2];
    const FloatInput<T> x(context.inputs[0]), weight(context.inputs[1]), bias(context.inputs[2]);
    FloatOutput<T> y(context.outputs[0]);
    for (int64_t i = 0; i < out.batch * out.channels; ++i) {
      const int64_t n = i / out.channels, channel = i % out.channels;
      const T* source = x.data() + (n * in.channels + channel / group_out * group_in) * in.plane();
      for_each_position(out.extents, [&](const Extent3& output) {
        const T sum =
            convolve(source, weight.data() + channel * filter, in, group_in, windows, taps, output);
        // The bias is added to the finished sum, once; then the one rounding to y's dtype.
        y[i * out.plane() + flat_index(output, out.extents)] =
            bias.is_present() ? sum + bias[channel] : sum;
      });
    }
    return {};
  }
};

// Positions that the strides of a transposed convolution may span: what is added to it stays within
// 64 bits, since windows and paddings are below 2^62.
constexpr int64_t kMaxSteps = int64_t{1} << 61;

// Transposed --------------------------------------------------------------------------------

// The adjoint of conv2d in shape: outputs = (in - 1) * stride - 2 pad + span + out_pad. The output
// padding below the stride (or dilation) picks one of the extents that conv2d maps to the same
// number.
Result<Types> infer_transposed(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const Window3 windows, windows_of_rank<4>(context.attributes));
  QUERN_TRY(check_ports(context, windows, 4));
  QUERN_ASSIGN_OR_RETURN(const ConvShape shape, check_channels(context, true));
  TensorType y = *context.inputs[0];
  QUERN_ASSIGN_OR_RETURN(const Extent3 extents, spatial_extents("x", y));
  y.dims[1] = Dim::constant(shape.out);
  for (const size_t axis : {size_t{1}, size_t{2}}) {
    const Window& window = windows[axis];
    const int64_t extra = context.attributes.integer(axis == 1 ? "out_pad_h" : "out_pad_w");
    if (extra < 0 || extra >= std::max(window.stride, window.dilation)) {
      return fail::invalid(
          "Attribute '{}' is {}; it must be from 0 to below the stride {} or the dilation {}, "
          "whichever is larger.",
          axis == 1 ? "out_pad_h" : "out_pad_w", extra, window.stride, window.dilation);
    }
    const auto steps = checked_multiply(extents[axis] - 1, window.stride);
    if (!steps || *steps >= kMaxSteps) {
      return fail::invalid(
          "Port 'x' has type {}; with the stride {} axis {} of the result would have more than "
          "2^61 elements.",
          context.inputs[0]->to_string(), window.stride, axis + 1);
    }
    const int64_t outputs = *steps - 2 * window.pad + window.span() + extra;
    if (outputs < 1) {
      return fail::invalid(
          "Port 'x' has type {}; with the stride {}, the padding {} and a window of {}, axis {} of "
          "the result would have the extent {}; it needs 1 or more.",
          context.inputs[0]->to_string(), window.stride, window.pad, window.span(), axis + 1,
          outputs);
    }
    y.dims[axis + 1] = Dim::constant(outputs);
  }
  return Types{y};
}

// The input position whose tap falls on `output`, or false.
// Output o receives input p through tap t where o = p * stride - pad + t * dilation: solved for p,
// which must be a whole number inside the input. The sign is tested with the rest: a negative
// `scaled` has a quotient that C++ rounds up to 0.
bool source_position(const Window3& windows, const Extent3& output, const Extent3& tap,
                     const Extent3& extents, Extent3& position) {
  for (size_t i = 0; i < 3; ++i) {
    const int64_t scaled = output[i] + windows[i].pad - tap[i] * windows[i].dilation;
    position[i] = scaled / windows[i].stride;
    if (scaled < 0 || scaled % windows[i].stride != 0 || position[i] >= extents[i]) return false;
  }
  return true;
}

// Gathers for each output instead of scattering from each input, so that the order of a sum is that
// of k = (input channel, kh, kw) over the taps that reach the output; the others take no place in
// the blocks, unlike padding in a convolution.
struct TransposedKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    QUERN_ASSIGN_OR_RETURN(const Window3 windows, windows_of_rank<4>(context.attributes));
    const Planes in(context.inputs[0].shape), out(context.outputs[0].shape);
    const int64_t groups = context.attributes.integer("groups");
    const int64_t group_in = in.channels / groups, group_out = out.channels / groups;
    const Extent3 taps = {1, windows[1].kernel, windows[2].kernel};
    const int64_t num_taps = taps[1] * taps[2];
    const FloatInput<T> x(context.inputs[0]), weight(context.inputs[1]), bias(context.inputs[2]);
    FloatOutput<T> y(context.outputs[0]);
    for (int64_t i = 0; i < out.batch * out.channels; ++i) {
      const int64_t n = i / out.channels, channel = i % out.channels;
      // weight is [in, out / groups, kh, kw]: filter (c, channel within its group).
      const int64_t first = channel / group_out * group_in;  // the group's first input channel
      for_each_position(out.extents, [&](const Extent3& output) {
        BlockedFold<T> fold;
        for (int64_t c = first; c < first + group_in; ++c) {
          const T* filter = weight.data() + (c * group_out + channel % group_out) * num_taps;
          for_each_position(taps, [&](const Extent3& tap) {
            Extent3 position;
            if (!source_position(windows, output, tap, in.extents, position)) return;
            fold.add(x[(n * in.channels + c) * in.plane() + flat_index(position, in.extents)] *
                     filter[flat_index(tap, taps)]);
          });
        }
        y[i * out.plane() + flat_index(output, out.extents)] =
            bias.is_present() ? fold.result() + bias[channel] : fold.result();
      });
    }
    return {};
  }
};

// Attributes and the sentence that all of them share.
OpDef convolution_op(std::string id, std::string doc, OpDef::Infer infer, OpDef::Kernel kernel,
                     std::vector<AttributeDef> attributes) {
  attributes.push_back(integer("groups", 1, "Groups of channels."));
  attributes.push_back(integer("in", 0, "Input channels; 0: those of x."));
  attributes.push_back(integer("out", 0, "Output channels; 0: those of the weight."));
  return {.id = std::move(id),
          .doc = std::move(doc) + " The sum is blocked(256), then + bias.",
          .inputs = {port("x"), port("weight"), optional_port("bias")},
          .outputs = {port("y")},
          .attributes = std::move(attributes),
          .infer = infer,
          .reference = kernel};
}

}  // namespace

void register_convolution_ops(OpRegistry& registry) {
  const std::string order =
      " Correlation (the kernel is not flipped); k runs in the weight's memory order, a tap in the "
      "padding is skipped but keeps its k.";
  registry.add(with_notes(
      convolution_op("convolution.conv1d", "x [N, C, L], weight [O, C / groups, K]." + order,
                     infer_convolution<windows_of_rank<3>, 3>,
                     float_kernel<ConvolutionKernel<windows_of_rank<3>>>,
                     {integer("kernel_size", kRequired, "Taps."),
                      integer("stride", 1, "Step between windows."),
                      integer("padding", 0, "Padding on both sides."),
                      integer("dilation", 1, "Step between taps.")}),
      "x [N, C, L], weight [O, C / groups, K], bias [O] of floats no "
      "wider than x; y [N, O, L'] of x's dtype, L' = (L + 2 padding "
      "- dilation (K - 1) - 1) / stride + 1.",
      "NaN and infinities spread to the outputs whose window covers "
      "them; padding adds nothing, also next to infinities. N = 0 "
      "gives none; windows that do not fit are refused.",
      32));
  registry.add(with_notes(
      convolution_op("convolution.conv2d",
                     "x [N, C, H, W], weight [O, C / groups, KH, KW]." + order,
                     infer_convolution<windows_of_rank<4>, 4>,
                     float_kernel<ConvolutionKernel<windows_of_rank<4>>>, window_attributes("hw")),
      "x [N, C, H, W], weight [O, C / groups, KH, KW], bias [O] of "
      "floats no wider than x; y [N, O, H', W'] of x's dtype, each "
      "extent as in convolution.conv1d.",
      "NaN and infinities spread to the outputs whose window covers "
      "them; padding adds nothing, also next to infinities. N = 0 "
      "gives none; windows that do not fit are refused.",
      32));
  registry.add(with_notes(
      convolution_op("convolution.conv3d",
                     "x [N, C, D, H, W], weight [O, C / groups, KD, KH, KW]." + order,
                     infer_convolution<windows_of_rank<5>, 5>,
                     float_kernel<ConvolutionKernel<windows_of_rank<5>>>, window_attributes("dhw")),
      "x [N, C, D, H, W], weight [O, C / groups, KD, KH, KW], bias "
      "[O] of floats no wider than x; y [N, O, D', H', W'] of x's "
      "dtype.",
      "NaN and infinities spread to the outputs whose window covers "
      "them; padding adds nothing, also next to infinities. N = 0 "
      "gives none; windows that do not fit are refused.",
      32));
  auto transposed = window_attributes("hw");
  transposed.push_back(integer("out_pad_h", 0, "Rows added at the end."));
  transposed.push_back(integer("out_pad_w", 0, "Columns added at the end."));
  registry.add(with_notes(
      convolution_op(
          "convolution.conv_transpose2d",
          "x [N, C, H, W], weight [C, O / groups, KH, KW]: each input adds its weighted kernel to "
          "the output, of extent (in - 1) stride - 2 pad + dil (kernel - 1) + out_pad + 1. k "
          "counts "
          "(input channel, kh, kw) over the taps that reach the output.",
          infer_transposed, float_kernel<TransposedKernel>, transposed),
      "x [N, C, H, W], weight [C, O / groups, KH, KW], bias [O] of "
      "floats no wider than x; y [N, O, H', W'] of x's dtype.",
      "NaN and infinities spread to the outputs whose window covers "
      "them; padding adds nothing, also next to infinities. N = 0 "
      "gives none; windows that do not fit are refused.",
      32));
}

}  // namespace quern
