// A picture of where kinds of work stand against the limits of a machine.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "quern/device.h"

namespace quern::cli {

// One kind of work: how many operations it makes for a byte it moves, and its rate.
struct RooflinePoint {
  std::string label;     // "q4_0 int8 [5632, 2048] x 512"
  std::string group;     // points of one group share a colour: an operation id
  double intensity = 0;  // operations a byte, above 0; a product with its addition is two
  double rate = 0;       // operations a second, above 0
  double seconds = 0;    // in all: the area of the mark
};

// An SVG document: both axes logarithmic, one sloping roof for memory, level ones for integer and
// float products, the points with numbers, and a list of what the numbers mean.
std::string roofline_svg(std::string_view title, const DeviceRoof& roofs,
                         std::span<const RooflinePoint> points);

}  // namespace quern::cli
