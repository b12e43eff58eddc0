// Packs decoded blocks: see the picture in weight_scheme.h.
#include "backends/cpu/kernels/block_packing.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/kernels/direct_packing.h"
#include "tensor/convert.h"

namespace quern::cpu {
namespace {

using Kind = BlockFormat::Kind;

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

void put_scale(ScaleStorage storage, float scale, std::byte* at, int lane) {
  switch (storage) {
    case ScaleStorage::kF16:
      return put(at + lane * 2, to_f16(scale));
    case ScaleStorage::kBF16:
      return put(at + lane * 2, to_bf16(scale));
    case ScaleStorage::kF32:
      return put(at + lane * 4, scale);
  }
}

// The code of an integer: integer + offset, or its place in a table.
class CodeMap {
 public:
  CodeMap(const WeightScheme& scheme, int offset)
      : has_table_(scheme.table != CodeTable::kNone), offset_(static_cast<uint8_t>(offset)) {
    const int8_t* integers = scheme.table == CodeTable::kFp4 ? kFp4Integers : kIq4Integers;
    // Downwards, so that the first of two equal entries stays.
    for (int code = 15; has_table_ && code >= 0; --code) {
      places_[static_cast<uint8_t>(integers[code])] = static_cast<uint8_t>(code);
    }
  }

  void map_32(const int8_t* q, uint8_t* codes) const {
    if (has_table_) {
      for (int i = 0; i < 32; ++i) codes[i] = places_[static_cast<uint8_t>(q[i])];
    } else {
      for (int i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(q[i] + offset_);
    }
  }

 private:
  bool has_table_;
  uint8_t offset_;
  std::array<uint8_t, 256> places_{};
};

// Writes the codes of 32 elements of one lane into their bit planes.
class CodeWriter {
 public:
  CodeWriter(const WeightScheme& scheme, int lanes, int full_offset)
      : bits_(scheme.bits),
        plane_bytes_(int64_t{4} * lanes),
        map_(scheme, code_offset(scheme, full_offset)) {}

  void write(const int8_t* q, int lane, std::byte* out) const {
    alignas(32) uint8_t codes[32];
    map_.map_32(q, codes);
    uint32_t quads[8];
    std::memcpy(quads, codes, sizeof(quads));
    std::byte* at = out + 4 * lane;
    switch (bits_) {
      case 8:
        return write_plane<8>(quads, 0, at);
      case 2:
        return write_plane<2>(quads, 0, at);
      case 3:
        write_plane<2>(quads, 0, at);
        return write_plane<1>(quads, 2, at + 2 * plane_bytes_);
      case 5:
        write_plane<4>(quads, 0, at);
        return write_plane<1>(quads, 4, at + 4 * plane_bytes_);
      case 6:
        write_plane<4>(quads, 0, at);
        return write_plane<2>(quads, 4, at + 4 * plane_bytes_);
      default:
        return write_plane<4>(quads, 0, at);
    }
  }

 private:
  // Bits from `low` up of each code, four codes at a time. Vector v of the plane holds 8 / kBits
  // quads, at steps of kBits: quads v and v + 4 for nibbles; consecutive ones otherwise.
  template <int kBits>
  void write_plane(const uint32_t (&quads)[8], int low, std::byte* at) const {
    constexpr int kQuadsPerVector = 8 / kBits;
    constexpr int kStep = kBits == 4 ? 4 : 1;
    constexpr uint32_t kMask = 0x01010101u * ((1u << kBits) - 1);
    for (int v = 0; v < kBits; ++v) {
      const int first = kBits == 4 ? v : v * kQuadsPerVector;
      uint32_t bytes = 0;
      for (int part = 0; part < kQuadsPerVector; ++part) {
        bytes |= ((quads[first + part * kStep] >> low) & kMask) << (part * kBits);
      }
      put(at + v * plane_bytes_, bytes);
    }
  }

  int bits_;
  int64_t plane_bytes_;
  CodeMap map_;
};

// Elements [first, first + record_size) of a decoded block as one lane of a record.
class RecordWriter {
 public:
  RecordWriter(const BlockFormat& format, const WeightScheme& scheme, int lanes, int full_offset)
      : format_(format), scheme_(scheme), lanes_(lanes), codes_(scheme, lanes, full_offset) {}

  int64_t record_bytes() const { return scheme_.record_bytes(lanes_); }

  void write(const DecodedBlock& block, int first, int lane, std::byte* record) const {
    const int64_t scale_bytes = int64_t{scheme_.scale_bytes()} * lanes_;
    std::byte* at = record;
    const int num_scales = scheme_.is_super() ? 1 : 32 / scheme_.term;
    for (int i = 0; i < num_scales; ++i) {
      const int group = (first + i * scheme_.term) / format_.scale_group;
      put_scale(scheme_.storage, block.scale[group], at, lane);
      at += scale_bytes;
    }
    if (scheme_.has_min) {
      put_scale(scheme_.storage, block.minimum, at, lane);
      at += scale_bytes;
    }
    if (scheme_.is_super()) write_sub_scales(block, lane, at);
    std::byte* codes = record + scheme_.header_bytes(lanes_);
    for (int i = 0; i < scheme_.record_size(); i += 32) {
      codes_.write(block.q + first + i, lane, codes);
      codes += scheme_.code_bytes(lanes_);
    }
  }

 private:
  void write_sub_scales(const DecodedBlock& block, int lane, std::byte* at) const {
    const int count = 256 / scheme_.sub_block;
    for (int j = 0; j < count; ++j) {
      const int source = j * scheme_.sub_block / format_.sub_block;
      put(at + j * lanes_ + lane, static_cast<int8_t>(block.sub[source]));
    }
    if (!scheme_.has_min) return;
    at += count * lanes_;
    for (int j = 0; j < count; ++j) {
      const int source = j * scheme_.sub_block / format_.sub_block;
      put(at + ((j / 2) * lanes_ + lane) * 2 + j % 2, static_cast<uint8_t>(block.mins[source]));
    }
  }

  const BlockFormat& format_;
  const WeightScheme& scheme_;
  int lanes_;
  CodeWriter codes_;
};

}  // namespace

SchemeId scheme_of(const BlockFormat& format) {
  switch (format.dtype) {
    case DType::kQ4_0:
      return SchemeId::kQ4;
    case DType::kQ4_1:
      return SchemeId::kQ4Min;
    case DType::kQ5_0:
      return SchemeId::kQ5;
    case DType::kQ5_1:
      return SchemeId::kQ5Min;
    case DType::kQ1_0:
    case DType::kQ2_0:
      return SchemeId::kQ2;
    case DType::kIQ4_NL:
      return SchemeId::kIq4;
    case DType::kMXFP4:
      return SchemeId::kFp4;
    case DType::kNVFP4:
      return SchemeId::kFp4By16;
    case DType::kQ2_K:
      return SchemeId::kSuperQ2Min;
    case DType::kQ3_K:
      return SchemeId::kSuperQ3;
    case DType::kQ4_K:
      return SchemeId::kSuperQ4Min;
    case DType::kQ5_K:
      return SchemeId::kSuperQ5Min;
    case DType::kQ6_K:
      return SchemeId::kSuperQ6;
    case DType::kIQ4_XS:
      return SchemeId::kSuperIq4;
    case DType::kTQ1_0:
    case DType::kTQ2_0:
      return SchemeId::kSuperQ2;
    default:
      break;
  }
  // The others decode to 8 bits.
  if (format.activation_block == 32) return SchemeId::kQ8;
  return format.sub_block == 16 ? SchemeId::kSuperQ8By16 : SchemeId::kSuperQ8By32;
}

int code_offset(const WeightScheme& scheme, int full_offset) {
  if (scheme.table == CodeTable::kFp4) return kFp4Offset;
  if (scheme.table == CodeTable::kIq4 || scheme.bits == 8) return full_offset;
  return scheme.offset;
}

void pack_panel(const PanelSource& source, const WeightScheme& scheme, int lanes, int full_offset,
                std::byte* out) {
  if (pack_panel_directly(source, scheme, lanes, full_offset, out)) return;
  pack_decoded_panel(source, scheme, lanes, full_offset, out);
}

void pack_decoded_panel(const PanelSource& source, const WeightScheme& scheme, int lanes,
                        int full_offset, std::byte* out) {
  const BlockFormat& format = source.format;
  const RecordWriter writer(format, scheme, lanes, full_offset);
  const int64_t num_blocks = source.columns / format.block_size;
  const int records_per_block = format.block_size / scheme.record_size();
  DecodedBlock block;
  for (int64_t b = 0; b < num_blocks; ++b) {
    for (int lane = 0; lane < source.num_rows; ++lane) {
      format.decode(source.rows + lane * source.row_bytes + b * format.block_bytes, block);
      for (int r = 0; r < records_per_block; ++r) {
        std::byte* record = out + (b * records_per_block + r) * writer.record_bytes();
        writer.write(block, r * scheme.record_size(), lane, record);
      }
    }
  }
}

}  // namespace quern::cpu
