// Row conversions: one plain loop for each element type.
#include "tensor/convert.h"

#include <cstring>

#include "base/check.h"

namespace quern {
namespace {

// Reads element i of a row that may be unaligned.
template <class T>
T load(const std::byte* row, int64_t i) {
  T value;
  std::memcpy(&value, row + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// One loop per type with an inlined conversion, so that the compiler vectorises each.
template <class T, class Convert>
void widen_each(const std::byte* row, float* out, int64_t n, Convert convert) {
  for (int64_t i = 0; i < n; ++i) out[i] = convert(load<T>(row, i));
}

// Integers and native floats: a cast, which rounds to nearest even.
template <class T>
void widen_native(const std::byte* row, float* out, int64_t n) {
  widen_each<T>(row, out, n, [](T x) { return static_cast<float>(x); });
}

// Converts each element and stores its code, also at odd addresses.
template <class Source, class Convert>
void narrow_each(const Source* row, std::byte* out, int64_t n, Convert convert) {
  for (int64_t i = 0; i < n; ++i) {
    const auto code = convert(row[i]);
    std::memcpy(out + i * static_cast<int64_t>(sizeof(code)), &code, sizeof(code));
  }
}

// One rounding from the source to any float dtype.
template <class Source>
void narrow_any(DType dtype, const Source* row, std::byte* out, int64_t n) {
  QUERN_CHECK(is_float(dtype));
  switch (dtype) {
    case DType::kF64:
      return narrow_each(row, out, n, [](Source x) { return static_cast<double>(x); });
    case DType::kF32:
      // Going f64 -> f32 -> f16 would round twice and move values that lie next to a midpoint.
      // From f64 this is the one rounding; from f32 it copies.
      return narrow_each(row, out, n, [](Source x) { return static_cast<float>(x); });
    case DType::kF16:
      return narrow_each(row, out, n, [](Source x) { return to_f16(x); });
    case DType::kBF16:
      return narrow_each(row, out, n, [](Source x) { return to_bf16(x); });
    case DType::kF8E4M3:
      return narrow_each(row, out, n, [](Source x) { return to_f8e4m3(x); });
    default:
      return narrow_each(row, out, n, [](Source x) { return to_f8e5m2(x); });
  }
}

}  // namespace

// Numbers of one element a block; packed integers and quantised formats are not.
bool can_widen(DType dtype) {
  // i4, u4 and b1: no address of one element, hence no load<T>().
  const bool is_packed = dtype_info(dtype).block_size != 1;
  return is_float(dtype) || (is_integer(dtype) && !is_packed);
}

// A row as f32; 64-bit sources round.
void widen_row(DType dtype, const std::byte* row, float* out, int64_t n) {
  QUERN_CHECK(can_widen(dtype));
  switch (dtype) {
    case DType::kF64:
      return widen_native<double>(row, out, n);
    case DType::kF32:
      return widen_native<float>(row, out, n);
    case DType::kF16:
      return widen_each<uint16_t>(row, out, n, [](uint16_t x) { return f16_to_f32(x); });
    case DType::kBF16:
      return widen_each<uint16_t>(row, out, n, [](uint16_t x) { return bf16_to_f32(x); });
    case DType::kF8E4M3:
      return widen_each<uint8_t>(row, out, n, [](uint8_t x) { return f8e4m3_to_f32(x); });
    case DType::kF8E5M2:
      return widen_each<uint8_t>(row, out, n, [](uint8_t x) { return f8e5m2_to_f32(x); });
    case DType::kI64:
      return widen_native<int64_t>(row, out, n);
    case DType::kI32:
      return widen_native<int32_t>(row, out, n);
    case DType::kI16:
      return widen_native<int16_t>(row, out, n);
    case DType::kI8:
      return widen_native<int8_t>(row, out, n);
    case DType::kU64:
      return widen_native<uint64_t>(row, out, n);
    case DType::kU32:
      return widen_native<uint32_t>(row, out, n);
    case DType::kU16:
      return widen_native<uint16_t>(row, out, n);
    default:
      return widen_native<uint8_t>(row, out, n);
  }
}

void narrow_row(DType dtype, const float* row, std::byte* out, int64_t n) {
  narrow_any(dtype, row, out, n);
}

void narrow_row(DType dtype, const double* row, std::byte* out, int64_t n) {
  narrow_any(dtype, row, out, n);
}

}  // namespace quern
