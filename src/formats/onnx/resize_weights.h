// How much each element of an axis counts for each element of the resized axis (ONNX Resize).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quern/error.h"

namespace quern::onnx {

// Attributes of Resize.
struct ResizeOptions {
  std::string mode = "nearest";  // or linear, cubic
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  double cubic_coefficient = -0.75;
  bool excludes_outside = false;  // elements outside have no weight; else the edge repeats
  bool is_antialiased = false;
};

// One axis: extents, scale, and the region of interest.
struct ResizeAxis {
  int64_t extent = 0;    // of the input
  int64_t size = 0;      // of the output
  double scale = 1;      // size / extent before rounding
  double roi_begin = 0;  // for tf_crop_and_resize
  double roi_end = 1;
};

// The weights of one axis.
struct ResizeWeights {
  std::vector<double> matrix;    // [size, extent]; a row of zeros where the place is outside
  std::vector<uint8_t> outside;  // by output: 1 where tf_crop_and_resize extrapolates
};

// Errors: kUnimplemented for modes that are not known.
Result<ResizeWeights> resize_weights(const ResizeOptions& options, const ResizeAxis& axis);

}  // namespace quern::onnx
