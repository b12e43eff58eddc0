// math.cast: conversion between all real dtypes, one rounding from the source value.
#include <bit>
#include <vector>

#include "base/fail.h"
#include "ops/number_kernel.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"
#include "tensor/block_format.h"
#include "tensor/convert.h"

namespace quern {
namespace {

// Elements pass through one of three exact types: double for floats, bits and decoded blocks,
// int64_t or uint64_t for integers. Chunks bound the memory; they are whole blocks of any dtype.
// Exact: f64 holds every float up to 64 bits, int64_t every integer but those of u64. So there is
// no rounding before the one of the target.
constexpr int64_t kChunk = 4096;

// What to do with values past the largest finite f8.
// The attribute `saturate`, one flag per format, since "auto" treats them differently.
struct Overflow {
  bool saturate_e4m3 = true;
  bool saturate_e5m2 = false;
};

// Bytes before element `first`, which begins a block.
// For formats of one element in a block it is first * size.
int64_t block_offset(const TensorView& view, int64_t first) {
  const DTypeInfo& info = dtype_info(view.dtype);
  return first / info.block_size * info.block_bytes;
}

// Loading -----------------------------------------------------------------------------------

// Widens to int64_t, or uint64_t for the one type that needs it.
// A load fills `values`, whose size is the number of elements to read from `first` on.
template <class Int, class Wide>
void load_integers(const TensorView& x, int64_t first, std::vector<Wide>& values) {
  const Int* source = x.as<const Int>() + first;
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Wide>(source[i]);
}

// Low nibble first.
// Sign extension of 4 bits without a branch: (n ^ 8) - 8 maps 8 .. 15 to -8 .. -1; with sign 0
// nothing happens. `first` is a multiple of 4096, so it begins a byte.
void load_nibbles(const TensorView& x, int64_t first, std::vector<int64_t>& values) {
  const auto* source = x.as<const uint8_t>() + first / 2;
  const int64_t sign = x.dtype == DType::kI4 ? 8 : 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t nibble = i % 2 == 0 ? source[i / 2] & 15 : source[i / 2] >> 4;
    values[i] = (nibble ^ sign) - sign;
  }
}

// Lowest bit first.
// b1 holds eight elements a byte, element i in bit i mod 8.
void load_bits(const TensorView& x, int64_t first, std::vector<int64_t>& values) {
  const auto* source = x.as<const uint8_t>() + first / 8;
  for (size_t i = 0; i < values.size(); ++i) values[i] = source[i / 8] >> (i % 8) & 1;
}

// Elements of an integer tensor, packed ones too.
void load(const TensorView& x, int64_t first, std::vector<int64_t>& values) {
  if (x.dtype == DType::kB1) return load_bits(x, first, values);
  if (x.dtype == DType::kI4 || x.dtype == DType::kU4) return load_nibbles(x, first, values);
  // The result cannot fail: run_cast comes here for integers alone, packed ones gone.
  (void)with_integer_type(x.dtype, [&]<class Int>(Int) -> Result<void> {
    load_integers<Int>(x, first, values);
    return {};
  });
}
// u64 does not fit i64.
void load(const TensorView& x, int64_t first, std::vector<uint64_t>& values) {
  load_integers<uint64_t>(x, first, values);
}
// Floats exactly, block formats as they decode.
// Block formats decode to f32, as everywhere; f32 to f64 is exact.
void load(const TensorView& x, int64_t first, std::vector<double>& values) {
  const auto n = static_cast<int64_t>(values.size());
  if (!is_quantized(x.dtype)) return load_row(x, first, n, values.data());
  std::vector<float> decoded(values.size());
  dequantize_row(x.dtype, x.data + block_offset(x, first), decoded.data(), n);
  values.assign(decoded.begin(), decoded.end());
}

// Storing -----------------------------------------------------------------------------------

// A double from which one more rounding gives the rounding of `value` to any type of 24 bits of
// mantissa or fewer: round to odd.
// The top 53 bits of the integer, with the last one set if anything below was not 0. The nearest
// double would be a first rounding, after which a second one could meet a tie that is none: 2^62 +
// 2^54 + 1 to bf16 is the test's case.
template <class Int>
double to_odd_double(Int value) {
  const double nearest = static_cast<double>(value);
  // An integer of 54 bits or more may not fit; dropping to the nearest below sets the last bit.
  // 0 - x on unsigned numbers gives the magnitude of the lowest int64_t too.
  const auto magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  // Bits past the 53 of a double. Up to 53 bits every integer is exact.
  const int excess = 64 - std::countl_zero(magnitude) - 53;
  if (excess <= 0) return nearest;
  const uint64_t rest = magnitude & ((uint64_t{1} << excess) - 1);
  // Clearing `rest` leaves a multiple of 2^excess; the bit 2^excess is the last one that a double
  // keeps.
  const uint64_t odd = (magnitude - rest) | (rest != 0 ? uint64_t{1} << excess : 0);
  const double rounded = static_cast<double>(odd);
  return value < 0 ? -rounded : rounded;
}

// f64 itself rounds correctly in the conversion; narrower targets need the odd rounding.
// The conversion of int64_t to double rounds to nearest even by IEEE, which is the one rounding
// that f64 needs.
template <class Wide>
double to_double(Wide value, DType target) {
  if constexpr (std::is_same_v<Wide, double>)
    return value;
  else
    return target == DType::kF64 ? static_cast<double>(value) : to_odd_double(value);
}

// Floats of all widths. The f8 types saturate or overflow as asked, so they convert apart.
template <class Wide>
void store_floats(const std::vector<Wide>& values, Overflow overflow, int64_t first,
                  const TensorView& y) {
  std::vector<double> wide(values.size());
  for (size_t i = 0; i < values.size(); ++i) wide[i] = to_double(values[i], y.dtype);
  // For other targets this pointer is not used; its type is only that of f8.
  auto* bytes = y.as<uint8_t>() + first;
  for (size_t i = 0; i < wide.size(); ++i) {
    if (y.dtype == DType::kF8E4M3) bytes[i] = to_f8e4m3(wide[i], overflow.saturate_e4m3);
    if (y.dtype == DType::kF8E5M2) bytes[i] = to_f8e5m2(wide[i], overflow.saturate_e5m2);
  }
  // Formats of one byte are the two f8: they are finished.
  if (dtype_info(y.dtype).block_bytes == 1) return;
  store_row(y, first, static_cast<int64_t>(wide.size()), wide.data());
}

// Block formats are encoded from f32.
// First one rounding to f32, then the encoder of the format: two steps by definition, since formats
// are defined from f32.
template <class Wide>
void store_blocks(const std::vector<Wide>& values, int64_t first, const TensorView& y) {
  std::vector<float> rounded;
  for (const Wide value : values) rounded.push_back(static_cast<float>(to_double(value, y.dtype)));
  quantize_row(y.dtype, rounded.data(), y.data + block_offset(y, first),
               static_cast<int64_t>(rounded.size()));
}

// Floats truncate and clamp (NaN gives 0), integers wrap.
// The modular conversion of C++20 is the wrap that numerics asks of integers.
template <class Int, class Wide>
Int to_integer(Wide value) {
  if constexpr (std::is_same_v<Wide, double>)
    return cast_to_int<Int>(value);
  else
    return static_cast<Int>(value);
}

// Two integers a byte, low nibble first; they wrap.
// The first nibble of a byte overwrites it, the second is put on top: the output's bytes may be
// anything before. A last odd nibble leaves the upper half 0.
template <class Wide>
void store_nibbles(const std::vector<Wide>& values, int64_t first, const TensorView& y) {
  auto* target = y.as<uint8_t>() + first / 2;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto nibble = static_cast<uint8_t>(to_integer<int64_t>(values[i]) & 15);  // wraps
    target[i / 2] = static_cast<uint8_t>(i % 2 == 0 ? nibble : target[i / 2] | nibble << 4);
  }
}

// Eight flags a byte, lowest bit first; any value but 0 sets one, NaN too.
// As above: bit 0 starts the byte afresh.
template <class Wide>
void store_bits(const std::vector<Wide>& values, int64_t first, const TensorView& y) {
  auto* target = y.as<uint8_t>() + first / 8;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint8_t bit = static_cast<uint8_t>((values[i] != Wide(0) ? 1 : 0) << (i % 8));
    target[i / 8] = static_cast<uint8_t>(i % 8 == 0 ? bit : target[i / 8] | bit);
  }
}

// Writes a chunk in whatever type y has.
// Floats, blocks, packed integers, then the integers of whole bytes.
template <class Wide>
void store(const std::vector<Wide>& values, Overflow overflow, int64_t first, const TensorView& y) {
  if (is_float(y.dtype)) return store_floats(values, overflow, first, y);
  if (is_quantized(y.dtype)) return store_blocks(values, first, y);
  if (y.dtype == DType::kB1) return store_bits(values, first, y);
  if (y.dtype == DType::kI4 || y.dtype == DType::kU4) return store_nibbles(values, first, y);
  (void)with_integer_type(y.dtype, [&]<class Int>(Int) -> Result<void> {
    Int* target = y.as<Int>() + first;
    for (size_t i = 0; i < values.size(); ++i) target[i] = to_integer<Int>(values[i]);
    return {};
  });
}

// The operation -----------------------------------------------------------------------------

// Converts in chunks through the exact type `Wide`.
// No branch on the dtype within a chunk but in load and store. n = 0 does nothing.
template <class Wide>
void cast_all(const TensorView& x, Overflow overflow, const TensorView& y) {
  const int64_t n = x.shape.num_elements();
  std::vector<Wide> values;
  for (int64_t first = 0; first < n; first += kChunk) {
    values.resize(static_cast<size_t>(std::min(kChunk, n - first)));
    load(x, first, values);
    store(values, overflow, first, y);
  }
}

// The source decides the exact type. "auto" saturates e4m3, which has no infinity, and not e5m2.
Result<void> run_cast(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  Overflow overflow;
  const std::string& saturate = context.attributes.text("saturate");
  if (saturate != "auto") overflow = {saturate == "true", saturate == "true"};
  if (x.dtype == DType::kU64)
    cast_all<uint64_t>(x, overflow, y);
  else if (is_integer(x.dtype))
    cast_all<int64_t>(x, overflow, y);
  else
    cast_all<double>(x, overflow, y);
  return {};
}

// Readable from x, writable to the named dtype, and whole blocks for packed targets.
// Packed types are blocks of 2 or 8 elements, so the same check covers them and block formats: a
// row must not share a byte with the next one. A symbolic last extent may leave a part of a block.
Result<std::vector<TensorType>> infer_cast(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  const std::string& name = context.attributes.text("to");
  const auto to = find_dtype(name);
  if (!to) return fail::invalid("Attribute 'to' is '{}'; it must name a dtype.", name);
  const bool is_readable = is_float(x.dtype) || is_integer(x.dtype) ||
                           (is_quantized(x.dtype) && can_dequantize(x.dtype));
  const bool is_writable = is_float(*to) || is_integer(*to) || can_encode(*to);
  if (!is_readable || !is_writable) {
    return fail::unimplemented("There is no cast from {} to {}.", x.to_string(), name);
  }
  const int64_t block = dtype_info(*to).block_size;
  const bool is_whole = block == 1 || (x.rank() > 0 && x.dims.back().is_constant() &&
                                       x.dims.back().factor % block == 0);
  if (!is_whole) {
    return fail::invalid("Port 'x' has type {}; its last extent must be a multiple of {} for {}.",
                         x.to_string(), block, name);
  }
  return std::vector<TensorType>{{*to, x.dims}};
}

}  // namespace

void register_cast_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add(
      {.id = "math.cast",
       .doc = "Each element as another dtype, with one rounding to nearest even. Float to integer "
              "truncates and clamps (i4 and u4 wrap), NaN gives 0; integer to narrower integer "
              "wraps; b1 is x != 0, true for NaN. Overflow gives infinity, or in f8 as 'saturate' "
              "says. Block formats decode to f32 first and are encoded from f32.",
       .shape_rule = "x of any shape: floats, integers, b1, or a block format that "
                     "decodes; y of the attribute's dtype and the same extents, "
                     "whose last one is whole blocks.",
       .edge_rule = "NaN stays NaN in floats, is 0 in integers and true in b1; "
                    "infinities clamp in integers. No elements give none.",
       .f32_bound = 0,
       .inputs = {port("x")},
       .outputs = {port("y")},
       .attributes = {text("to", kRequired, "Name of the dtype."),
                      text("saturate", "auto",
                           "f8 overflow to the largest finite value; auto: for f8e4m3 only.",
                           {"auto", "true", "false"})},
       .infer = infer_cast,
       .reference = run_cast});
}

}  // namespace quern
