// ONNX operators on quantised integers. Products of 8-bit integers are exact in f32 up to 2^24, and
// in f64 for every length that fits in memory; f64 is used.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/fail.h"
#include "formats/onnx/spatial_windows.h"

namespace quern::onnx {
namespace {

// A scale or zero point of one number, one per `axis`, or one per block of it, over the dims of x.
ValueId spread_over(TensorAlgebra& g, ValueId scale, const Dims& dims, int64_t axis,
                    int64_t block) {
  const Dims own = g.dims(scale);
  //   one number          -> rank 0, broadcast over all
  //   [n] along `axis`    -> [1, ..., n, ..., 1]
  //   as x, axis / block  -> each row of blocks repeated `block` times along the axis
  if (count_of(own) == 1 && own.size() <= 1) return g.reshape(scale, {});
  if (dims.empty() || !g.allows(dims[static_cast<size_t>(axis)])) {
    g.refuse("A scale of several elements needs an axis.");
    return kNoValue;
  }
  if (own.size() <= 1) {
    Dims column(dims.size(), 1);
    column[static_cast<size_t>(axis)] = count_of(own);
    return g.reshape(scale, column);
  }
  std::vector<int64_t> sources;
  for (int64_t i = 0; i < dims[static_cast<size_t>(axis)]; ++i)
    sources.push_back(i / std::max<int64_t>(block, 1));
  return g.take(scale, axis, sources);
}

// Smallest and largest value.
struct Range {
  double low = 0;
  double high = 0;
};
// Nothing for types that are no targets of quantisation.
std::optional<Range> integer_range(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return Range{-128, 127};
    case DType::kU8:
      return Range{0, 255};
    case DType::kI16:
      return Range{-32768, 32767};
    case DType::kU16:
      return Range{0, 65535};
    default:
      return std::nullopt;
  }
}

// Rounded, moved by the zero point (of the dtype of `x`) and clamped into an integer type.
ValueId quantise(TensorAlgebra& g, ValueId x, ValueId zero, DType to, const Range& range) {
  ValueId q = g.op("math.round", {x});
  if (zero != kNoValue) q = g.binary("math.add", q, g.cast(zero, g.dtype(x)));
  // Clamped in floats before the cast: the sum may be far outside of the integer type.
  q = g.with_scalar("elementwise.min", g.with_scalar("elementwise.max", q, range.low), range.high);
  return g.cast(q, to);
}

// round(x ÷ scale) + zero point, saturated; scales for the whole tensor, an axis or blocks.
Result<void> quantize_linear(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0));
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = 0;
  if (g.rank(c.in(1)) > 0 && rank > 0) {
    QUERN_ASSIGN_OR_RETURN(axis, c.axis("axis", rank == 1 ? 0 : 1, rank));
  }
  const int64_t block = c.integer("block_size", 0);
  // The operator's default where neither a zero point nor output_dtype names a type.
  DType to = DType::kU8;
  if (c.has(2)) to = g.dtype(c.in(2));
  if (const int64_t declared = c.integer("output_dtype", 0); declared != 0) {
    const auto dtype = dtype_of(static_cast<int32_t>(declared));
    if (!dtype)
      return fail::unimplemented("QuantizeLinear gives {}.",
                                 data_type_name(static_cast<int32_t>(declared)));
    to = *dtype;
  }
  const ValueId x = g.cast(c.in(0), DType::kF32);
  const ValueId scale = g.cast(spread_over(g, c.in(1), dims, axis, block), DType::kF32);
  const ValueId scaled = g.binary("elementwise.div", x, scale);
  const auto range = integer_range(to);
  if (range) {
    const ValueId zero = c.has(2) ? spread_over(g, c.in(2), dims, axis, block) : kNoValue;
    c.out(0, quantise(g, scaled, zero, to, *range));
  } else if (to == DType::kF8E4M3 || to == DType::kF8E5M2) {
    c.out(0, g.op("math.cast", {scaled},
                  {{"to", std::string(dtype_name(to))},
                   {"saturate", c.integer("saturate", 1) != 0 ? "true" : "false"}}));
  } else {
    return fail::unimplemented("QuantizeLinear gives {}.", dtype_name(to));
  }
  return c.done();
}

// (x - zero point) * scale.
Result<void> dequantize_linear(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0));
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = 0;
  if (g.rank(c.in(1)) > 0 && rank > 0) {
    QUERN_ASSIGN_OR_RETURN(axis, c.axis("axis", rank == 1 ? 0 : 1, rank));
  }
  const int64_t block = c.integer("block_size", 0);
  const DType to = g.dtype(c.in(1));
  ValueId x = g.cast(c.in(0), DType::kF32);
  if (c.has(2))
    x = g.binary("elementwise.sub", x,
                 g.cast(spread_over(g, c.in(2), dims, axis, block), DType::kF32));
  const ValueId scale = g.cast(spread_over(g, c.in(1), dims, axis, block), DType::kF32);
  c.out(0, g.cast(g.binary("math.mul", x, scale), to));
  return c.done();
}

// One scale for all: the range of x with 0 in it, over 255 steps.
Result<void> dynamic_quantize_linear(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  Dims axes;
  for (int64_t i = 0; i < g.rank(x); ++i) axes.push_back(i);
  // 0 belongs to the range, so that it is a value that the integers hold exactly.
  const ValueId high = g.with_scalar("elementwise.max", g.reduce("reduce_max", x, axes, false), 0);
  const ValueId low = g.with_scalar("elementwise.min", g.reduce("reduce_min", x, axes, false), 0);
  const ValueId scale =
      g.binary("elementwise.div", g.op("elementwise.sub", {high, low}), g.scalar(x, 255));
  const Range range{0, 255};
  const ValueId minus_low = g.op("elementwise.neg", {low});
  const ValueId zero =
      quantise(g, g.op("elementwise.div", {minus_low, scale}), kNoValue, DType::kU8, range);
  c.out(0, quantise(g, g.binary("elementwise.div", x, scale), zero, DType::kU8, range));
  c.out(1, scale);
  c.out(2, zero);
  return c.done();
}

// A parameter that is given once, as a vector along `axis` of `dims`, or with extents of its own
// that broadcast to `dims`. Without the axis in `dims`, one number must do.
ValueId spread_along(TensorAlgebra& g, ValueId parameter, const Dims& dims, int64_t axis) {
  const Dims own = g.dims(parameter);
  if (count_of(own) == 1) return g.reshape(parameter, {});
  const bool has_axis = axis >= 0 && static_cast<size_t>(axis) < dims.size();
  Dims extents = own;
  if (own.size() == 1 && has_axis) {
    extents.assign(dims.size(), 1);
    extents[static_cast<size_t>(axis)] = own[0];
  }
  // Where they broadcast to more than `dims`, the result would take their shape.
  if ((own.size() == 1 && !has_axis) || common_shape(dims, extents) != dims) {
    g.refuse(fmt::format("A scale or zero point of shape [{}] does not fit shape [{}].",
                         fmt::join(own, ", "), fmt::join(dims, ", ")));
    return kNoValue;
  }
  return g.reshape(parameter, extents);
}

// x - zero in f64. A vector of zero points goes along `axis`.
ValueId centred(TensorAlgebra& g, ValueId x, ValueId zero, int64_t axis) {
  const ValueId wide = g.cast(x, DType::kF64);
  if (zero == kNoValue) return wide;
  const ValueId offset = g.cast(spread_along(g, zero, g.dims(x), axis), DType::kF64);
  return g.binary("elementwise.sub", wide, offset);
}

// Factors of a product without their zero points. Those of a go along its rows, those of b along
// its columns; a vector is one row or one column.
ValueId centred_rows(TensorAlgebra& g, ValueId a, ValueId zero) {
  return centred(g, a, zero, g.rank(a) - 2);
}
ValueId centred_columns(TensorAlgebra& g, ValueId b, ValueId zero) {
  return centred(g, b, zero, g.rank(b) < 2 ? -1 : g.rank(b) - 1);
}

// Products of integers are made in a float type that holds them exactly.
Result<void> matmul_integer(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId a = centred_rows(g, c.in(0), c.in(2));
  const ValueId b = centred_columns(g, c.in(1), c.in(3));
  c.out(0, g.cast(g.matmul(a, b), DType::kI32));
  return c.done();
}

// Convolution of integers in floats; sums stay below 2^53.
ValueId convolve_exactly(TensorAlgebra& g, ValueId x, ValueId w,
                         const std::vector<AxisWindow>& windows, int64_t groups) {
  for (size_t i = 0; i < windows.size(); ++i) {
    // After the zero point was subtracted: padding means the value 0, not the integer 0.
    x = g.pad(x, static_cast<int64_t>(i) + 2, windows[i].pad_begin, windows[i].pad_end, 0);
  }
  return g.op("convolution.conv2d", {x, w},
              {{"groups", groups},
               {"kernel_h", windows[0].kernel},
               {"kernel_w", windows[1].kernel},
               {"stride_h", windows[0].stride},
               {"stride_w", windows[1].stride},
               {"dil_h", windows[0].dilation},
               {"dil_w", windows[1].dilation}});
}

// Windows of a convolution with two spatial axes. Errors: another number of them.
Result<std::vector<AxisWindow>> windows_2d(NodeContext& c, size_t x, size_t w) {
  const Dims weight = c.g().dims(c.in(w));
  if (weight.size() != 4)
    return fail::unimplemented("{} over {} axes has no equivalent.", c.node().op_type,
                               weight.size());
  return read_windows(c, c.g().dims(c.in(x)), {weight.begin() + 2, weight.end()});
}

// ConvInteger: zero points are subtracted first.
Result<void> conv_integer(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const auto windows, windows_2d(c, 0, 1));
  const ValueId x = centred(g, c.in(0), c.in(2), 1), w = centred(g, c.in(1), c.in(3), 0);
  c.out(0, g.cast(convolve_exactly(g, x, w, windows, c.integer("group", 1)), DType::kI32));
  return c.done();
}

// An exact product, times the three scales, to the output's integers.
Result<void> out_requantised(NodeContext& c, ValueId product, ValueId factor, size_t zero) {
  TensorAlgebra& g = c.g();
  const auto range = integer_range(g.dtype(c.in(zero)));
  if (!range)
    return fail::unimplemented("{} gives {}.", c.node().op_type, dtype_name(g.dtype(c.in(zero))));
  c.out(0, quantise(g, g.binary("math.mul", product, factor), g.reshape(c.in(zero), {}),
                    g.dtype(c.in(zero)), *range));
  return c.done();
}

// The axes of a product along which vectors of scales of its factors go; negative for none.
struct ScaleAxes {
  int64_t a = -1;
  int64_t b = -1;
};

// a_scale * b_scale / y_scale in f64, for a product of the shape `dims`; y has one scale.
ValueId joint_scale(TensorAlgebra& g, ValueId a, ValueId b, ValueId y, const Dims& dims,
                    const ScaleAxes& axes) {
  const auto wide = [&](ValueId scale, int64_t axis) {
    return g.cast(spread_along(g, scale, dims, axis), DType::kF64);
  };
  return g.binary("elementwise.div", g.binary("math.mul", wide(a, axes.a), wide(b, axes.b)),
                  wide(y, -1));
}

// Dequantised operands, then quantised results: the rounding is that of the operator's description.
Result<void> qlinear_matmul(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId a = centred_rows(g, c.in(0), c.in(2));
  const ValueId b = centred_columns(g, c.in(3), c.in(5));
  const ValueId product = g.matmul(a, b);
  const Dims dims = g.dims(product);
  const auto rank = static_cast<int64_t>(dims.size());
  // A factor of rank 1 has no rows (columns), and the product has no axis for them.
  const bool has_rows = g.rank(c.in(0)) > 1, has_columns = g.rank(c.in(3)) > 1;
  const ScaleAxes axes{.a = has_rows ? rank - (has_columns ? 2 : 1) : -1,
                       .b = has_columns ? rank - 1 : -1};
  return out_requantised(c, product, joint_scale(g, c.in(1), c.in(4), c.in(6), dims, axes), 7);
}

Result<void> qlinear_conv(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const auto windows, windows_2d(c, 0, 3));
  const ValueId x = centred(g, c.in(0), c.in(2), 1), w = centred(g, c.in(3), c.in(5), 0);
  ValueId product = convolve_exactly(g, x, w, windows, c.integer("group", 1));
  if (c.has(8)) {
    Dims column(4, 1);
    column[1] = count_of(g.dims(c.in(8)));
    product = g.binary("math.add", product, g.reshape(g.cast(c.in(8), DType::kF64), column));
  }
  // One scale for x, one for each filter: they are the channels of the product.
  const ScaleAxes axes{.b = 1};
  return out_requantised(c, product,
                         joint_scale(g, c.in(1), c.in(4), c.in(6), g.dims(product), axes), 7);
}

constexpr std::array kMappers = {
    OpMapper{"ConvInteger", conv_integer},
    OpMapper{"DequantizeLinear", dequantize_linear},
    OpMapper{"DynamicQuantizeLinear", dynamic_quantize_linear},
    OpMapper{"MatMulInteger", matmul_integer},
    OpMapper{"QLinearConv", qlinear_conv},
    OpMapper{"QLinearMatMul", qlinear_matmul},
    OpMapper{"QuantizeLinear", quantize_linear},
};

}  // namespace

std::span<const OpMapper> quantization_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
