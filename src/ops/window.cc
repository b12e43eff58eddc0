// Sliding windows over the spatial axes.
#include "ops/window.h"

#include "base/fail.h"
#include "ops/op_parts.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;  // products of two stay below 2^62

// Where an axis letter stands in depth, height, width.
size_t axis_index(char axis) {
  // Only the letters of this file's callers are asked for.
  return std::string_view("dhw").find(axis);
}

// `name` is the letter of the axis, `what` the number that is out of range.
Result<void> check_range(std::string_view name, std::string_view what, int64_t value,
                         int64_t lowest) {
  if (value >= lowest && value < kLimit) return {};
  return fail::invalid("The {} of axis '{}' is {}; it must be from {} to 2^31 - 1.", what, name,
                       value, lowest);
}

}  // namespace

int64_t Window::num_outputs(int64_t input, bool ceil) const {
  // `room` is how far the first tap can move, so there is a window at 0, stride, ... up to room.
  // With `ceil` one more counts if it starts in the input or the left padding, not in the right
  // one: PyTorch's rule.
  const int64_t room = input + 2 * pad - span();
  if (room < 0) return 0;
  // Both are 0 or more, so the division rounds down.
  const int64_t outputs = room / stride + 1;
  const bool has_rest = room % stride != 0;
  // Both sides count from the start of the left padding; no product overflows, as all are bounded.
  const bool starts_inside = outputs * stride < input + pad;
  return outputs + (ceil && has_rest && starts_inside ? 1 : 0);
}

Result<void> check_window(std::string_view name, const Window& window) {
  // A window without taps, or one that does not move, has no outputs that could be counted.
  QUERN_TRY(check_range(name, "kernel", window.kernel, 1));
  QUERN_TRY(check_range(name, "stride", window.stride, 1));
  QUERN_TRY(check_range(name, "padding", window.pad, 0));
  return check_range(name, "dilation", window.dilation, 1);
}

Result<Window3> read_windows(const Attributes& attributes, std::string_view axes) {
  Window3 windows;
  for (const char axis : axes) {
    // kernel_h, stride_h and so on, by the letter.
    const auto integer = [&](const char* name) {
      return attributes.integer(std::string(name) + axis);
    };
    Window& window = windows[axis_index(axis)];
    window = {integer("kernel_"), integer("stride_"), integer("pad_"), integer("dil_")};
    QUERN_TRY(check_window(std::string_view(&axis, 1), window));
  }
  return windows;
}

Result<Window3> read_convolution_windows(const Attributes& attributes, int rank) {
  if (rank > 3) return read_windows(attributes, rank == 4 ? "hw" : "dhw");
  // A single axis has attributes without letters, and is the width.
  Window3 windows;
  windows[2] = {attributes.integer("kernel_size"), attributes.integer("stride"),
                attributes.integer("padding"), attributes.integer("dilation")};
  QUERN_TRY(check_window("w", windows[2]));
  return windows;
}

std::vector<AttributeDef> window_attributes(std::string_view axes) {
  using op_parts::integer;
  std::vector<AttributeDef> attributes;
  for (const char axis : axes) {
    attributes.push_back(integer(std::string("kernel_") + axis, op_parts::kRequired, "Taps."));
    attributes.push_back(integer(std::string("stride_") + axis, 1, "Step between windows."));
    attributes.push_back(integer(std::string("pad_") + axis, 0, "Padding on both sides."));
    attributes.push_back(integer(std::string("dil_") + axis, 1, "Step between taps."));
  }
  return attributes;
}

Result<Extent3> spatial_extents(std::string_view port, const TensorType& type) {
  Extent3 extents = {1, 1, 1};
  for (int axis = 2; axis < type.rank(); ++axis) {
    QUERN_ASSIGN_OR_RETURN(const int64_t extent, type_rules::constant_dim(port, type, axis));
    // Counted from the last axis: the width is entry 2 whatever the rank is.
    extents[static_cast<size_t>(3 - type.rank() + axis)] = extent;
  }
  return extents;
}

Extent3 spatial_extents(const Shape& shape) {
  Extent3 extents = {1, 1, 1};
  for (int axis = 2; axis < shape.rank(); ++axis) {
    extents[static_cast<size_t>(3 - shape.rank() + axis)] = shape[axis];
  }
  return extents;
}

}  // namespace quern
