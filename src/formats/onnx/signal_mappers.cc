// ONNX window functions and Fourier transforms, as products with tables of cosines.
// Exact for every length, which fast transforms are not.
#include <array>
#include <numbers>

#include "base/fail.h"
#include "formats/onnx/node_context.h"
#include "ops/math/strict_math.h"

namespace quern::onnx {
namespace {

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), computed by math.cos over a ramp.
Result<void> cosine_window(NodeContext& c, const std::array<double, 3>& a) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const int64_t size, c.known_int(0));
  if (size < 0 || size > kMaxTable)
    return fail::invalid("A window of {} elements is too long.", size);
  const auto to = dtype_of(static_cast<int32_t>(c.integer("output_datatype", 1)));
  if (!to) return fail::unimplemented("{} gives a type that Quern has not.", c.node().op_type);
  // A periodic window is the first `size` elements of a symmetric one that is longer by one.
  const auto periods = static_cast<double>(c.integer("periodic", 1) != 0 ? size : size - 1);
  std::vector<double> ramp;
  for (int64_t n = 0; n < size; ++n)
    ramp.push_back(2 * std::numbers::pi * static_cast<double>(n) / periods);
  const ValueId angle = g.constant(DType::kF64, {size}, std::move(ramp));
  ValueId y = g.with_scalar("math.add", g.scale(g.op("math.cos", {angle}), -a[1]), a[0]);
  if (a[2] != 0) y = g.op("math.add", {y, g.scale(g.op("math.cos", {g.scale(angle, 2)}), a[2])});
  c.out(0, g.cast(y, *to));
  return c.done();
}
// Windows of signal processing, periodic or symmetric.
Result<void> hann_window(NodeContext& c) {
  return cosine_window(c, {0.5, 0.5, 0});
}
Result<void> hamming_window(NodeContext& c) {
  return cosine_window(c, {25.0 / 46, 21.0 / 46, 0});
}
Result<void> blackman_window(NodeContext& c) {
  return cosine_window(c, {0.42, 0.5, 0.08});
}

// rows [m, n, parts] of real (parts 1) or complex (2) signals to [m, length, 2]: each is cut or
// padded with zeros to n_fft, then multiplied with cos and sin of its frequencies.
ValueId transform(TensorAlgebra& g, ValueId rows, int64_t n_fft, int64_t num_bins,
                  bool is_inverse) {
  const Dims d = g.dims(rows);
  if (d.size() != 3 || d[2] < 1 || d[2] > 2) {
    g.refuse("A transform needs real and imaginary parts in the last axis.");
    return kNoValue;
  }
  if (!g.allows(count_of({n_fft, d[2], num_bins, 2}))) return kNoValue;
  rows = g.slice(rows, 1, 0, std::min(d[1], n_fft));
  rows = g.pad(rows, 1, 0, std::max<int64_t>(n_fft - d[1], 0), 0);
  const double sign = is_inverse ? 1 : -1,
               scale = is_inverse ? 1.0 / static_cast<double>(n_fft) : 1;
  std::vector<double> table;  // [n_fft, parts, num_bins, 2]
  for (int64_t n = 0; n < n_fft; ++n) {
    for (int64_t part = 0; part < d[2]; ++part) {
      for (int64_t k = 0; k < num_bins; ++k) {
        const double angle =
            // Modulo the length in integers: the angle stays below 2 pi, where cos and sin lose no
            // bits.
            2 * std::numbers::pi * static_cast<double>(n * k % n_fft) / static_cast<double>(n_fft);
        const double cosine = strict_cos(angle) * scale, sine = sign * strict_sin(angle) * scale;
        // (re + i im) * (cos + i sin): re gives (cos, sin), im gives (-sin, cos).
        table.push_back(part == 0 ? cosine : -sine);
        table.push_back(part == 0 ? sine : cosine);
      }
    }
  }
  const ValueId matrix = g.constant(g.dtype(rows), {n_fft * d[2], num_bins * 2}, std::move(table));
  return g.reshape(g.op("math.matmul", {g.reshape(rows, {d[0], n_fft * d[2]}), matrix}),
                   {d[0], num_bins, 2});
}

// Axis and length are attributes and inputs of different versions.
Result<void> dft(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0));
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = c.opset() < 20 ? c.integer("axis", 1) : -2;
  if (c.has(2)) {
    QUERN_ASSIGN_OR_RETURN(axis, c.known_int(2));
  }
  QUERN_ASSIGN_OR_RETURN(axis, normal_axis(axis, rank));
  if (axis == rank - 1)
    return fail::invalid("DFT goes along the axis of real and imaginary parts.");
  int64_t n_fft = dims[static_cast<size_t>(axis)];
  if (c.has(1)) {
    QUERN_ASSIGN_OR_RETURN(n_fft, c.known_int(1));
  }
  const bool is_inverse = c.integer("inverse", 0) != 0, is_onesided = c.integer("onesided", 0) != 0;
  if (is_inverse && is_onesided)
    return fail::unimplemented("A one-sided inverse DFT has no equivalent.");
  if (n_fft < 1 || n_fft > kMaxTable)
    return fail::unimplemented("A DFT of {} elements is too long.", n_fft);
  // The other bins of a real signal are the conjugates of these.
  const int64_t num_bins = is_onesided ? n_fft / 2 + 1 : n_fft;
  const ValueId moved = g.move_axis(c.in(0), axis, rank - 2);
  const Dims moved_dims = g.dims(moved);
  const int64_t rows = count_of({moved_dims.begin(), moved_dims.end() - 2});
  const ValueId y =
      transform(g, g.reshape(moved, {rows, moved_dims[moved_dims.size() - 2], moved_dims.back()}),
                n_fft, num_bins, is_inverse);
  Dims result = moved_dims;
  result[result.size() - 2] = num_bins;
  result.back() = 2;
  c.out(0, g.move_axis(g.reshape(y, result), rank - 2, axis));
  return c.done();
}

// Frames of the signal, each times the window, then a DFT: [B, frames, bins, 2].
Result<void> stft(NodeContext& c) {
  TensorAlgebra& g = c.g();
  Dims dims = g.dims(c.in(0));
  if (dims.size() == 2) dims.push_back(1);
  if (dims.size() != 3) return fail::invalid("STFT needs a signal [B, T, 1 or 2].");
  QUERN_ASSIGN_OR_RETURN(const int64_t step, c.known_int(1));
  int64_t length = c.has(2) ? count_of(g.dims(c.in(2))) : 0;
  if (c.has(3)) {
    QUERN_ASSIGN_OR_RETURN(length, c.known_int(3));
  }
  if (length < 1 || step < 1 || length > dims[1] || length > kMaxTable)
    return fail::invalid("STFT has frames of {}.", length);
  const int64_t frames = (dims[1] - length) / step + 1;
  if (!g.allows(count_of({frames, length}))) return c.done();
  std::vector<int64_t> sources;
  for (int64_t frame = 0; frame < frames; ++frame) {
    for (int64_t i = 0; i < length; ++i) sources.push_back(frame * step + i);
  }
  ValueId rows =
      g.reshape(g.take(g.reshape(c.in(0), dims), 1, sources), {dims[0] * frames, length, dims[2]});
  if (c.has(2)) rows = g.binary("math.mul", rows, g.reshape(c.in(2), {length, 1}));
  const int64_t num_bins = c.integer("onesided", 1) != 0 ? length / 2 + 1 : length;
  c.out(0, g.reshape(transform(g, rows, length, num_bins, false), {dims[0], frames, num_bins, 2}));
  return c.done();
}

constexpr std::array kMappers = {
    OpMapper{"BlackmanWindow", blackman_window},
    OpMapper{"DFT", dft},
    OpMapper{"HammingWindow", hamming_window},
    OpMapper{"HannWindow", hann_window},
    OpMapper{"STFT", stft},
};

}  // namespace

std::span<const OpMapper> signal_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
