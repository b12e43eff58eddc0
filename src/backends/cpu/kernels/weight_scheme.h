// Packed forms of block-quantised weights: the few schemes that all formats map to.
//
// A panel holds the rows of one vector lane each (16 rows for 512 bits). Along K it is a row of
// records. A record of a term scheme covers 32 elements: codes, then scales; one of a super scheme
// covers 256: scales, sub-scales, minima, then eight times the codes of 32 elements.
//
// Codes of 32 elements fill `bits` vectors. Byte 4 l + i of the vectors belongs to lane l and to
// element 4 q + i of a quad q = 0 .. 7. Bit planes, each a part of the code from its low bits up:
//   8 bits: vector q, quad q
//   4 bits: vector j, quad j in the low nibble, quad j + 4 in the high nibble
//   2 bits: vector j, quad 4 j + i in the bits 2 i and 2 i + 1
//   1 bit: one vector, quad q in bit q
// 3 = 2 + 1, 5 = 4 + 1 and 6 = 4 + 2 bits follow one another: the plane of low bits first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::cpu {

// Storage of the scale D and the minimum of a record; each is exact for its formats.
enum class ScaleStorage : uint8_t { kF16, kBF16, kF32 };

// Integers that a code of 4 bits names where they are not evenly spaced.
enum class CodeTable : uint8_t { kNone, kIq4, kFp4 };

// A weight's integer is code - offset, or the table's entry. Codes of 8 bits are signed or carry
// an offset, as the dot product of the level wants them (LinearKernels::full_offset).
struct WeightScheme {
  int bits;    // of a code: 2, 3, 4, 5, 6 or 8
  int offset;  // without table and below 8 bits
  CodeTable table;
  int term;       // elements of a term: 16 or 32, or 256: a super scheme
  int sub_block;  // super schemes: elements that share an integer sub-scale, 16 or 32
  bool has_min;   // M of a term, or Dmin and integer minima of a super scheme
  ScaleStorage storage;

  constexpr bool is_super() const { return term == 256; }
  constexpr int scale_bytes() const { return storage == ScaleStorage::kF32 ? 4 : 2; }
  // Elements of a record.
  constexpr int record_size() const { return is_super() ? 256 : 32; }
  // Bytes of the parts of a record, for panels of `lanes` rows.
  constexpr int64_t code_bytes(int lanes) const { return int64_t{4} * bits * lanes; }
  constexpr int64_t header_bytes(int lanes) const {
    const int scales = (has_min ? 2 : 1) * (is_super() ? 1 : 32 / term);
    const int sub_scales = is_super() ? (has_min ? 2 : 1) * 256 / sub_block : 0;
    return int64_t{lanes} * (scales * scale_bytes() + sub_scales);
  }
  constexpr int64_t record_bytes(int lanes) const {
    return header_bytes(lanes) + code_bytes(lanes) * (record_size() / 32);
  }
};

// One line per scheme, and the formats that use it.
enum class SchemeId : uint8_t {
  kQ8,       // q8_0
  kQ4,       // q4_0
  kQ4Min,    // q4_1
  kQ5,       // q5_0
  kQ5Min,    // q5_1
  kQ2,       // q1_0, q2_0
  kIq4,      // iq4_nl
  kFp4,      // mxfp4
  kFp4By16,  // nvfp4
  kSuperQ4Min,
  kSuperQ5Min,
  kSuperQ2Min,
  kSuperQ3,
  kSuperQ6,
  kSuperIq4,
  kSuperQ2,
  kSuperQ8By16,
  kSuperQ8By32,
};
constexpr int kNumSchemes = static_cast<int>(SchemeId::kSuperQ8By32) + 1;

constexpr WeightScheme kSchemes[kNumSchemes] = {
    // bits, offset, table, term, sub_block, has_min, storage
    {8, 0, CodeTable::kNone, 32, 0, false, ScaleStorage::kF16},
    {4, 8, CodeTable::kNone, 32, 0, false, ScaleStorage::kF16},
    {4, 0, CodeTable::kNone, 32, 0, true, ScaleStorage::kF16},
    {5, 16, CodeTable::kNone, 32, 0, false, ScaleStorage::kF16},
    {5, 0, CodeTable::kNone, 32, 0, true, ScaleStorage::kF16},
    {2, 1, CodeTable::kNone, 32, 0, false, ScaleStorage::kF16},
    {4, 0, CodeTable::kIq4, 32, 0, false, ScaleStorage::kF16},
    {4, 0, CodeTable::kFp4, 32, 0, false, ScaleStorage::kBF16},
    {4, 0, CodeTable::kFp4, 16, 0, false, ScaleStorage::kF16},
    {4, 0, CodeTable::kNone, 256, 32, true, ScaleStorage::kF16},
    {5, 0, CodeTable::kNone, 256, 32, true, ScaleStorage::kF16},
    {2, 0, CodeTable::kNone, 256, 16, true, ScaleStorage::kF16},
    {3, 4, CodeTable::kNone, 256, 16, false, ScaleStorage::kF16},
    {6, 32, CodeTable::kNone, 256, 16, false, ScaleStorage::kF16},
    {4, 0, CodeTable::kIq4, 256, 32, false, ScaleStorage::kF16},
    {2, 1, CodeTable::kNone, 256, 32, false, ScaleStorage::kF16},
    {8, 0, CodeTable::kNone, 256, 16, false, ScaleStorage::kF32},
    {8, 0, CodeTable::kNone, 256, 32, false, ScaleStorage::kF32},
};

constexpr const WeightScheme& scheme(SchemeId id) {
  return kSchemes[static_cast<int>(id)];
}

// The integers of a table, without offset.
constexpr int8_t kIq4Integers[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
// Twice the e2m1 values; both zeros are 0. Products add kFp4Offset to make them unsigned.
constexpr int8_t kFp4Integers[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

constexpr int kFp4Offset = 12;

}  // namespace quern::cpu
