// Coordinates, then the weights of the neighbours.
// Every mode is a sparse matrix from input to output places, written out densely.
#include "formats/onnx/resize_weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/fail.h"

namespace quern::onnx {
namespace {

// The place in the input of output element i; nothing for an unknown mode.
std::optional<double> input_place(const std::string& mode, const ResizeAxis& a, int64_t i) {
  const auto x = static_cast<double>(i);
  const auto extent = static_cast<double>(a.extent);
  const double size = a.scale * extent;  // before it was rounded down
  if (mode == "half_pixel") return (x + 0.5) / a.scale - 0.5;
  if (mode == "asymmetric") return x / a.scale;
  if (mode == "pytorch_half_pixel") return size == 1 ? -0.5 : (x + 0.5) / a.scale - 0.5;
  if (mode == "align_corners") return size == 1 ? 0 : x * (extent - 1) / (size - 1);
  if (mode == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(a.size) / size;
    return extent / 2 * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  if (mode == "tf_crop_and_resize") {
    if (a.size == 1) return (a.roi_end + a.roi_begin) * (extent - 1) / 2;
    const double step = (a.roi_end - a.roi_begin) * (extent - 1) / (size - 1);
    return x * step + a.roi_begin * (extent - 1);
  }
  return std::nullopt;
}

// Keys' cubic, with the coefficient a for the outer part.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// Weights of the elements first, first + 1, ... around a place.
struct Neighbours {
  int64_t first = 0;
  std::vector<double> weights;
};

// `ratio` is how far the place lies after the element floor, in (0, 1]; a place on an element
// counts as 1 after the one before it.
std::vector<double> nearest_weights(const std::string& mode, double ratio) {
  const bool is_on_element = ratio == 1;
  const bool takes_left =
      !is_on_element && ((mode == "round_prefer_floor" && ratio <= 0.5) ||
                         (mode == "round_prefer_ceil" && ratio < 0.5) || mode == "floor");
  return takes_left ? std::vector<double>{1, 0} : std::vector<double>{0, 1};
}

// Which inputs an output is made of, and with which weights.
Neighbours neighbours_of(const ResizeOptions& o, double place, double scale) {
  const double floor = std::floor(place);
  const bool is_on_element = place == floor;
  //   elements   left        left + 1
  //   place        |---ratio---*
  const double ratio = is_on_element ? 1 : place - floor;
  const int64_t left = static_cast<int64_t>(floor) - (is_on_element ? 1 : 0);
  if (o.mode == "nearest") return {left, nearest_weights(o.nearest, ratio)};
  // Shrinking with anti-aliasing widens the kernel by 1 / scale.
  const double stretch = o.is_antialiased ? std::min(scale, 1.0) : 1.0;
  const double reach = o.mode == "linear" ? 1 : 2;
  // Taps from start to 1 - start around `left`: 2 for linear, 4 for cubic, more where it is
  // stretched.
  const auto start = static_cast<int64_t>(std::floor(-reach / stretch)) + 1;
  Neighbours n{left + start, {}};
  for (int64_t i = start; i <= 1 - start; ++i) {
    const double distance = (static_cast<double>(i) - ratio) * stretch;
    n.weights.push_back(o.mode == "linear" ? std::clamp(1 - std::abs(distance), 0.0, 1.0)
                                           : cubic(distance, o.cubic_coefficient));
  }
  const double sum = std::accumulate(n.weights.begin(), n.weights.end(), 0.0);
  if (o.is_antialiased) {
    for (double& weight : n.weights) weight /= sum;
  }
  return n;
}

// Adds the neighbours' weights to a row; outside, the edge stands for what is not there.
void fill_row(Neighbours n, const ResizeOptions& o, int64_t extent, double* row) {
  if (o.excludes_outside) {
    double sum = 0;
    for (size_t i = 0; i < n.weights.size(); ++i) {
      const int64_t at = n.first + static_cast<int64_t>(i);
      if (at < 0 || at >= extent) n.weights[i] = 0;
      sum += n.weights[i];
    }
    for (double& weight : n.weights) weight /= sum;
  }
  for (size_t i = 0; i < n.weights.size(); ++i) {
    // +=, since several taps outside fall on the same edge element.
    row[std::clamp<int64_t>(n.first + static_cast<int64_t>(i), 0, extent - 1)] += n.weights[i];
  }
}

}  // namespace

// The matrix [out, in] of one axis, row by row. Errors: words that are not known.
Result<ResizeWeights> resize_weights(const ResizeOptions& options, const ResizeAxis& axis) {
  if (options.mode != "nearest" && options.mode != "linear" && options.mode != "cubic") {
    return fail::unimplemented("The mode '{}' of a resize is not known.", options.mode);
  }
  if (axis.extent < 1 || axis.size < 0 || axis.size > 1 << 20 ||
      axis.extent * std::max<int64_t>(axis.size, 1) > 1 << 24) {
    return fail::unimplemented("An axis of {} is not resized to {}.", axis.extent, axis.size);
  }
  // Anti-aliasing reads 4 / scale neighbours for each element.
  if (options.is_antialiased && 4 / axis.scale * static_cast<double>(axis.size) > 1 << 24) {
    return fail::unimplemented("A resize by {} is too strong.", axis.scale);
  }
  ResizeWeights weights;
  weights.matrix.assign(static_cast<size_t>(axis.extent * axis.size), 0);
  weights.outside.assign(static_cast<size_t>(axis.size), 0);
  for (int64_t i = 0; i < axis.size; ++i) {
    const auto place = input_place(options.coordinates, axis, i);
    if (!place)
      return fail::unimplemented("The coordinates '{}' of a resize are not known.",
                                 options.coordinates);
    if (!(std::abs(*place) < 1e9)) return fail::invalid("A resize reads the place {}.", *place);
    const bool is_outside = *place < 0 || *place > static_cast<double>(axis.extent - 1);
    if (options.coordinates == "tf_crop_and_resize" && is_outside) {
      weights.outside[static_cast<size_t>(i)] = 1;
      continue;
    }
    fill_row(neighbours_of(options, *place, axis.scale), options, axis.extent,
             weights.matrix.data() + i * axis.extent);
  }
  return weights;
}

}  // namespace quern::onnx
