// ONNX operators that resample images: one product with a matrix of weights for each axis.
// Weights are computed at build time in double precision.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/fail.h"
#include "formats/onnx/node_context.h"
#include "formats/onnx/resize_weights.h"

namespace quern::onnx {
namespace {

// x with one axis resized. Where the weights say outside, `extrapolation` stands.
Result<ValueId> resize_axis(TensorAlgebra& g, ValueId x, int64_t axis, const ResizeOptions& options,
                            const ResizeAxis& geometry, double extrapolation) {
  QUERN_ASSIGN_OR_RETURN(const ResizeWeights weights, resize_weights(options, geometry));
  const int64_t last = g.rank(x) - 1;
  // [size, extent], transposed below: each row of x times it gives the resized row.
  const ValueId matrix = g.constant(g.dtype(x), {geometry.size, geometry.extent}, weights.matrix);
  ValueId y = g.matmul(g.move_axis(x, axis, last), g.permute(matrix, {1, 0}));
  if (std::ranges::find(weights.outside, 1) != weights.outside.end()) {
    const std::vector<double> mask(weights.outside.begin(), weights.outside.end());
    y = g.where(g.constant(DType::kU8, {geometry.size}, mask), g.scalar(y, extrapolation), y);
  }
  return g.move_axis(y, last, axis);
}

// Sizes and scales of the axes that are resized.
struct Geometry {
  Dims axes;
  std::vector<ResizeAxis> sizes;
};

// Scales or sizes of each axis, and how they keep the aspect. Errors: both or neither.
Result<Geometry> read_geometry(NodeContext& c, const Dims& dims) {
  Geometry geometry;
  geometry.axes = c.integers("axes");
  for (int64_t& axis : geometry.axes) {
    QUERN_ASSIGN_OR_RETURN(axis, normal_axis(axis, static_cast<int64_t>(dims.size())));
  }
  if (geometry.axes.empty()) {
    geometry.axes.resize(dims.size());
    std::iota(geometry.axes.begin(), geometry.axes.end(), int64_t{0});
  }
  std::vector<double> scales, roi;
  Dims sizes;
  if (c.has(1)) {
    QUERN_ASSIGN_OR_RETURN(roi, c.numbers(1));
  }
  if (c.has(2)) {
    QUERN_ASSIGN_OR_RETURN(scales, c.numbers(2));
  }
  if (c.has(3)) {
    QUERN_ASSIGN_OR_RETURN(sizes, c.ints(3));
  }
  const size_t count = geometry.axes.size();
  if ((sizes.empty() ? scales.size() : sizes.size()) != count)
    return fail::invalid("Resize has sizes for other axes.");
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  for (size_t i = 0; i < count; ++i) {
    ResizeAxis axis{.extent = dims[static_cast<size_t>(geometry.axes[i])]};
    axis.scale = sizes.empty() ? scales[i]
                               : static_cast<double>(sizes[i]) / static_cast<double>(axis.extent);
    // Before the size is made of it: a cast of NaN or of 2^63 and more is not defined.
    if (!(axis.scale > 0 && axis.scale < 1e6)) {
      return fail::invalid("Resize has the scale {}.", axis.scale);
    }
    const double size = std::floor(axis.scale * static_cast<double>(axis.extent));
    axis.size = sizes.empty() ? static_cast<int64_t>(size) : sizes[i];
    if (roi.size() == 2 * count) {
      // roi holds all begins, then all ends.
      axis.roi_begin = roi[i];
      axis.roi_end = roi[i + count];
    }
    geometry.sizes.push_back(axis);
  }
  if (!sizes.empty() && policy != "stretch") {  // one scale for all
    const auto by_scale = [](const ResizeAxis& a, const ResizeAxis& b) {
      return a.scale < b.scale;
    };
    const double scale = policy == "not_larger" ? std::ranges::min(geometry.sizes, by_scale).scale
                                                : std::ranges::max(geometry.sizes, by_scale).scale;
    for (ResizeAxis& axis : geometry.sizes) {
      axis.scale = scale;
      // Rounded to nearest here, while a scale alone rounds down, as the operator's description
      // says.
      axis.size = static_cast<int64_t>(std::floor(scale * static_cast<double>(axis.extent) + 0.5));
    }
  }
  return geometry;
}

// One axis after another: the weights of several axes are products.
Result<void> resize_all(NodeContext& c, const Geometry& geometry, const ResizeOptions& options) {
  TensorAlgebra& g = c.g();
  const DType dtype = g.dtype(c.in(0));
  ValueId y = is_float(dtype) ? c.in(0) : g.cast(c.in(0), DType::kF64);
  for (size_t i = 0; i < geometry.axes.size(); ++i) {
    const ResizeAxis& axis = geometry.sizes[i];
    const bool is_kept =
        axis.scale == 1 && axis.size == axis.extent && options.coordinates != "tf_crop_and_resize";
    if (is_kept) continue;
    QUERN_ASSIGN_OR_RETURN(
        y, resize_axis(g, y, geometry.axes[i], options, axis, c.number("extrapolation_value", 0)));
  }
  y = g.cast(y, dtype);
  c.out(0, g.op("shape.reshape", {y}, {{"shape", g.dims(y)}}));
  return c.done();
}

// Nearest, linear and cubic.
Result<void> resize(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const Geometry geometry, read_geometry(c, c.g().dims(c.in(0))));
  ResizeOptions options;
  options.mode = c.text("mode", "nearest");
  options.coordinates = c.text("coordinate_transformation_mode", "half_pixel");
  options.nearest = c.text("nearest_mode", "round_prefer_floor");
  options.cubic_coefficient = c.number("cubic_coeff_a", -0.75);
  options.excludes_outside = c.integer("exclude_outside", 0) != 0;
  options.is_antialiased = c.integer("antialias", 0) != 0;
  return resize_all(c, geometry, options);
}

// The older operator: scales of all axes, places x / scale.
Result<void> upsample(NodeContext& c) {
  const Dims dims = c.g().dims(c.in(0));
  QUERN_ASSIGN_OR_RETURN(const std::vector<double> scales, c.numbers(1));
  if (scales.size() != dims.size()) return fail::invalid("Upsample has {} scales.", scales.size());
  Geometry geometry;
  for (size_t i = 0; i < dims.size(); ++i) {
    geometry.axes.push_back(static_cast<int64_t>(i));
    if (!(scales[i] > 0 && scales[i] < 1e6))
      return fail::invalid("Upsample has the scale {}.", scales[i]);
    const double size = std::floor(scales[i] * static_cast<double>(dims[i]));
    geometry.sizes.push_back(
        {.extent = dims[i], .size = static_cast<int64_t>(size), .scale = scales[i]});
  }
  return resize_all(
      c, geometry,
      {.mode = c.text("mode", "nearest"), .coordinates = "asymmetric", .nearest = "floor"});
}

// The places, from -1 to 1, that theta [N, d, d + 1] sends the pixels of an image to.
Result<void> affine_grid(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const Dims size, c.ints(1));
  if (size.size() != 4 && size.size() != 5) return fail::invalid("AffineGrid needs an image.");
  const Dims spatial(size.begin() + 2, size.end());
  if (!c.g().allows(count_of(spatial)) || std::ranges::min(size) < 1) {
    return fail::invalid("AffineGrid has an impossible image.");
  }
  const bool aligns_corners = c.integer("align_corners", 0) != 0;
  const auto rank = static_cast<int64_t>(spatial.size());
  std::vector<double> places;  // [pixels, rank + 1]: x first, then y (and z), then 1
  for (int64_t pixel = 0; pixel < count_of(spatial); ++pixel) {
    int64_t rest = pixel;
    for (size_t i = spatial.size(); i > 0; --i) {
      const auto n = static_cast<double>(spatial[i - 1]);
      const auto at = static_cast<double>(rest % spatial[i - 1]);
      // The image spans -1 to 1 from centre to centre of the outer pixels, or from edge to edge.
      places.push_back(aligns_corners ? (n == 1 ? -1 : -1 + 2 * at / (n - 1))
                                      : (2 * at + 1) / n - 1);
      rest /= spatial[i - 1];
    }
    places.push_back(1);
  }
  const ValueId base =
      g.constant(g.dtype(c.in(0)), {count_of(spatial), rank + 1}, std::move(places));
  Dims result{size[0]};
  result.insert(result.end(), spatial.begin(), spatial.end());
  result.push_back(rank);
  c.out(0, g.reshape(g.matmul(base, g.permute(c.in(0), {0, 2, 1})), result));
  return c.done();
}

constexpr std::array kMappers = {
    OpMapper{"AffineGrid", affine_grid},
    OpMapper{"Resize", resize},
    OpMapper{"Upsample", upsample},
};

}  // namespace

std::span<const OpMapper> resampling_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
