// Reading and writing the little-endian fields of a block, on hosts of either byte order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/convert.h"

namespace quern {

// Numbers at any alignment. Values come as uint32_t, so that shifts and masks need no casts.
inline uint32_t load_u8(const std::byte* at) {
  return std::to_integer<uint32_t>(*at);
}
inline uint32_t load_u16(const std::byte* at) {
  return load_u8(at) | load_u8(at + 1) << 8;
}
inline uint32_t load_u32(const std::byte* at) {
  return load_u16(at) | load_u16(at + 2) << 16;
}
inline float load_f16(const std::byte* at) {
  return f16_to_f32(static_cast<uint16_t>(load_u16(at)));
}

// The low bits of `value`; higher ones are dropped.
inline void store_u8(std::byte* at, uint32_t value) {
  *at = static_cast<std::byte>(value);
}
inline void store_u16(std::byte* at, uint32_t value) {
  store_u8(at, value & 255);
  store_u8(at + 1, value >> 8 & 255);
}
inline void store_u32(std::byte* at, uint32_t value) {
  store_u16(at, value & 0xFFFF);
  store_u16(at + 2, value >> 16);
}

// Rounded to nearest even; fits give values that are f16 already.
inline void store_f16(std::byte* at, float value) {
  store_u16(at, to_f16(value));
}

// The two nibbles and the four bit pairs of a byte, from the low end.
inline int low_nibble(std::byte b) {
  return std::to_integer<int>(b) & 15;
}
inline int high_nibble(std::byte b) {
  return std::to_integer<int>(b) >> 4;
}
inline int bit_pair(std::byte b, int index) {
  return std::to_integer<int>(b) >> (2 * index) & 3;
}

}  // namespace quern
