// Reading the codes and scales of packed weights: the unpacking side of weight_scheme.h.
#pragma once

#include "backends/cpu/kernels/unroll-inl.h"
#include "backends/cpu/kernels/weight_scheme.h"

namespace quern::cpu {
namespace {

// The offset of a scheme's codes at this level.
template <SchemeId kId, int kPlanes>
constexpr int level_offset() {
  constexpr WeightScheme s = scheme(kId);
  if (s.table == CodeTable::kFp4) return kFp4Offset;
  if (s.table == CodeTable::kIq4 || s.bits == 8) return kFullOffset<kPlanes>;
  return s.offset;
}
// The largest unsigned weight that enters a dot product; 255 stands for all 8 bits.
template <SchemeId kId>
constexpr int max_code() {
  constexpr WeightScheme s = scheme(kId);
  if (s.table == CodeTable::kFp4) return 2 * kFp4Offset;
  if (s.table == CodeTable::kIq4 || s.bits == 8) return 255;
  return (1 << s.bits) - 1;
}

// Integers of a table plus the offset, as bytes.
struct ShiftedTable {
  int8_t entries[16];
};
template <SchemeId kId, int kPlanes>
constexpr ShiftedTable shifted_table() {
  constexpr bool kIsFp4 = scheme(kId).table == CodeTable::kFp4;
  ShiftedTable table{};
  for (int i = 0; i < 16; ++i) {
    const int integer = kIsFp4 ? kFp4Integers[i] : kIq4Integers[i];
    table.entries[i] = static_cast<int8_t>(integer + level_offset<kId, kPlanes>());
  }
  return table;
}
template <SchemeId kId, int kPlanes>
constexpr ShiftedTable kShiftedTable = shifted_table<kId, kPlanes>();

// Shifts all bits of v right (or left where kRight < 0) inside lanes of 32 bits.
template <int kRight>
QUERN_INLINE VecU8 shift_lanes(VecU8 v) {
  const VecU32 lanes = bits_as<VecU32>(v);
  if constexpr (kRight >= 0) {
    return bits_as<VecU8>(lanes >> kRight);
  } else {
    return bits_as<VecU8>(lanes << -kRight);
  }
}

// Bits kLow .. kLow + kCount - 1 of each byte of v, moved to bit kTo; the others are 0.
template <int kLow, int kCount, int kTo>
QUERN_INLINE VecU8 take_bits(VecU8 v) {
  return shift_lanes<kLow - kTo>(v) & static_cast<uint8_t>(((1 << kCount) - 1) << kTo);
}

// Weights of quad kQuad of the 32 elements whose codes begin at `codes`, plus the offset.
template <SchemeId kId, int kPlanes, int kQuad>
QUERN_INLINE VecU8 load_quad(const std::byte* codes) {
  constexpr WeightScheme s = scheme(kId);
  const auto plane = [codes](int index)
                         QUERN_INLINE_LAMBDA { return load<VecU8>(codes + index * kVectorBytes); };
  if constexpr (s.bits == 8) {
    return plane(kQuad);
  } else if constexpr (s.bits == 2) {
    return take_bits<2 * (kQuad % 4), 2, 0>(plane(kQuad / 4));
  } else if constexpr (s.bits == 3) {
    return take_bits<2 * (kQuad % 4), 2, 0>(plane(kQuad / 4)) | take_bits<kQuad, 1, 2>(plane(2));
  } else {
    const VecU8 nibbles = take_bits<4 * (kQuad / 4), 4, 0>(plane(kQuad % 4));
    if constexpr (s.table != CodeTable::kNone) {
      return bits_as<VecU8>(look_up(kShiftedTable<kId, kPlanes>.entries, nibbles));
    } else if constexpr (s.bits == 5) {
      return nibbles | take_bits<kQuad, 1, 4>(plane(4));
    } else if constexpr (s.bits == 6) {
      return nibbles | take_bits<2 * (kQuad % 4), 2, 4>(plane(4 + kQuad / 4));
    } else {
      return nibbles;
    }
  }
}

// One scale per lane.
template <ScaleStorage kStorage>
QUERN_INLINE VecF32 load_scales(const std::byte* p) {
  if constexpr (kStorage == ScaleStorage::kF16) {
    return widen_f16(reinterpret_cast<const uint16_t*>(p));
  } else if constexpr (kStorage == ScaleStorage::kBF16) {
    return widen_bf16(reinterpret_cast<const uint16_t*>(p));
  } else {
    return load<VecF32>(p);
  }
}

// One signed byte per lane, widened.
QUERN_INLINE VecI32 load_sub_scales(const std::byte* p) {
  return load_i8(reinterpret_cast<const int8_t*>(p));
}
// Two unsigned bytes per lane, widened to pairs of 16 bits.
QUERN_INLINE VecI16 load_minimum_pairs(const std::byte* p) {
  return widen_u8(reinterpret_cast<const uint8_t*>(p));
}

}  // namespace
}  // namespace quern::cpu
