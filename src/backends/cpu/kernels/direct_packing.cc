// A file's block holds its codes in the order of elements, a panel those of all lanes quad by quad.
// Each packer below writes one lane of one record; quads are dwords of four codes.
#include "backends/cpu/kernels/direct_packing.h"

#include <cstring>

#include "backends/cpu/kernels/transpose-inl.h"

namespace quern::cpu {
namespace {

constexpr uint32_t kLowNibbles = 0x0F0F0F0FU;
constexpr uint32_t kHighNibbles = 0xF0F0F0F0U;

// Unaligned, little-endian: x86 and ARM as we build for them.
template <class T>
T get(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

// One lane of the record that is being written, or the first of four.
struct Lane {
  std::byte* record;
  int lane;
  int lanes;
  int64_t header_bytes;
  int64_t code_bytes;  // of 32 elements
  uint32_t sign_flip;  // of four codes of 8 bits

  // Scale or minimum `index` of the record, as stored in the file.
  void put_scale(int index, const std::byte* at) const {
    put(record + (index * lanes + lane) * 2, get<uint16_t>(at));
  }
  // Dword `vector` of the codes of 32 elements `group`.
  void put_quad(int group, int vector, uint32_t quad) const {
    put(record + header_bytes + group * code_bytes + (vector * lanes + lane) * 4, quad);
  }
  // Dwords `vector` to `vector` + 3 of four lanes: of lane l the 16 bytes from at + l * step, each
  // dword xor `flip`. One store where one lane at a time needs four.
  void put_four_lanes(int vector, const std::byte* at, int64_t step, uint32_t flip) const {
    Dwords v[4];
    for (int l = 0; l < 4; ++l) v[l] = get<Dwords>(at + l * step) ^ flip;
    transpose(v);
    for (int j = 0; j < 4; ++j) {
      put(record + header_bytes + ((vector + j) * lanes + lane) * 4, v[j]);
    }
  }
};

// Formats whose blocks hold the dwords of the panel one behind another have write_four_lanes() as
// well: blocks of four lanes, `step` bytes apart.
template <class Format>
concept TakesFourLanes = requires(const std::byte* blocks, int64_t step, const Lane& to) {
  Format::write_four_lanes(blocks, step, to);
};

// What precedes the codes of a block: its scales, in the order of the record.
template <int kScales>
void put_scales_of_four_lanes(const std::byte* blocks, int64_t step, Lane to) {
  for (int l = 0; l < 4; ++l, ++to.lane) {
    for (int s = 0; s < kScales; ++s) to.put_scale(s, blocks + l * step + 2 * s);
  }
}

struct Q8_0 {
  static constexpr int kBlockBytes = 34;
  static void write(const std::byte* block, const Lane& to) {
    to.put_scale(0, block);
    for (int j = 0; j < 8; ++j) to.put_quad(0, j, get<uint32_t>(block + 2 + 4 * j) ^ to.sign_flip);
  }
  static void write_four_lanes(const std::byte* blocks, int64_t step, const Lane& to) {
    put_scales_of_four_lanes<1>(blocks, step, to);
    to.put_four_lanes(0, blocks + 2, step, to.sign_flip);
    to.put_four_lanes(4, blocks + 18, step, to.sign_flip);
  }
};

// 16 bytes of elements j and j + 16: already quad v beside quad v + 4.
void put_nibbles(const std::byte* nibbles, const Lane& to) {
  for (int v = 0; v < 4; ++v) to.put_quad(0, v, get<uint32_t>(nibbles + 4 * v));
}

// Bits 0, 4, 8, ... 28 of x, side by side.
uint32_t gather_each_fourth(uint32_t x) {
  x &= 0x11111111U;
  x = (x | x >> 3) & 0x03030303U;
  x = (x | x >> 6) & 0x000F000FU;
  return (x | x >> 12) & 0xFFU;
}
// The plane of fifth bits: byte i, bit q is that of element 4 q + i.
uint32_t fifth_bits(uint32_t bits) {
  return gather_each_fourth(bits) | gather_each_fourth(bits >> 1) << 8 |
         gather_each_fourth(bits >> 2) << 16 | gather_each_fourth(bits >> 3) << 24;
}

struct Q4_0 {
  static constexpr int kBlockBytes = 18;
  static void write(const std::byte* block, const Lane& to) {
    to.put_scale(0, block);
    put_nibbles(block + 2, to);
  }
  static void write_four_lanes(const std::byte* blocks, int64_t step, const Lane& to) {
    put_scales_of_four_lanes<1>(blocks, step, to);
    to.put_four_lanes(0, blocks + 2, step, 0);
  }
};
struct Q4_1 {
  static constexpr int kBlockBytes = 20;
  static void write(const std::byte* block, const Lane& to) {
    to.put_scale(0, block);
    to.put_scale(1, block + 2);
    put_nibbles(block + 4, to);
  }
  static void write_four_lanes(const std::byte* blocks, int64_t step, const Lane& to) {
    put_scales_of_four_lanes<2>(blocks, step, to);
    to.put_four_lanes(0, blocks + 4, step, 0);
  }
};
struct Q5_0 {
  static constexpr int kBlockBytes = 22;
  static void write(const std::byte* block, const Lane& to) {
    to.put_scale(0, block);
    put_nibbles(block + 6, to);
    to.put_quad(0, 4, fifth_bits(get<uint32_t>(block + 2)));
  }
};
struct Q5_1 {
  static constexpr int kBlockBytes = 24;
  static void write(const std::byte* block, const Lane& to) {
    to.put_scale(0, block);
    to.put_scale(1, block + 2);
    put_nibbles(block + 8, to);
    to.put_quad(0, 4, fifth_bits(get<uint32_t>(block + 4)));
  }
};

// 32 bytes hold the nibbles of two groups of 32 elements, low ones first.
void put_nibble_groups(const std::byte* bytes, int group, const Lane& to) {
  for (int v = 0; v < 4; ++v) {
    const auto front = get<uint32_t>(bytes + 4 * v);
    const auto back = get<uint32_t>(bytes + 16 + 4 * v);
    to.put_quad(group, v, (front & kLowNibbles) | (back & kLowNibbles) << 4);
    to.put_quad(group + 1, v, (front >> 4 & kLowNibbles) | (back & kHighNibbles));
  }
}

// The header of q4_K and q5_K: d, dmin, and eight sub-scales and minima of 6 bits in 12 bytes.
void put_k_header(const std::byte* block, const Lane& to) {
  to.put_scale(0, block);
  to.put_scale(1, block + 2);
  const auto first = get<uint32_t>(block + 4);
  const auto second = get<uint32_t>(block + 8);
  const auto third = get<uint32_t>(block + 12);
  const uint32_t subs[2] = {first & 0x3F3F3F3FU,
                            (third & kLowNibbles) | (first >> 2 & 0x30303030U)};
  const uint32_t mins[2] = {second & 0x3F3F3F3FU,
                            (third >> 4 & kLowNibbles) | (second >> 2 & 0x30303030U)};
  std::byte* sub_scales = to.record + 4 * to.lanes;
  std::byte* minima = sub_scales + 8 * to.lanes;
  for (int j = 0; j < 8; ++j) {
    put(sub_scales + j * to.lanes + to.lane, static_cast<uint8_t>(subs[j / 4] >> 8 * (j % 4)));
    put(minima + ((j / 2) * to.lanes + to.lane) * 2 + j % 2,
        static_cast<uint8_t>(mins[j / 4] >> 8 * (j % 4)));
  }
}

struct Q4_K {
  static constexpr int kBlockBytes = 144;
  static void write(const std::byte* block, const Lane& to) {
    put_k_header(block, to);
    for (int pair = 0; pair < 4; ++pair) put_nibble_groups(block + 16 + 32 * pair, 2 * pair, to);
  }
};
struct Q5_K {
  static constexpr int kBlockBytes = 176;
  // Byte l of the high bits: bit g is that of element l of group g.
  static void write(const std::byte* block, const Lane& to) {
    put_k_header(block, to);
    for (int pair = 0; pair < 4; ++pair) put_nibble_groups(block + 48 + 32 * pair, 2 * pair, to);
    for (int group = 0; group < 8; ++group) {
      uint32_t plane = 0;
      for (int q = 0; q < 8; ++q) {
        plane |= (get<uint32_t>(block + 16 + 4 * q) >> group & 0x01010101U) << q;
      }
      to.put_quad(group, 4, plane);
    }
  }
};

struct Q6_K {
  static constexpr int kBlockBytes = 210;
  // Each half of 128 elements: 64 bytes of low nibbles, of groups 0 and 2, then of 1 and 3; 32
  // bytes of pairs of high bits, two bits for each group.
  static void write(const std::byte* block, const Lane& to) {
    to.put_scale(0, block + 208);
    std::byte* sub_scales = to.record + 2 * to.lanes;
    for (int j = 0; j < 16; ++j) put(sub_scales + j * to.lanes + to.lane, block[192 + j]);
    for (int half = 0; half < 2; ++half) {
      for (int group = 0; group < 4; ++group) {
        write_group(block + 64 * half + 32 * (group % 2), block + 128 + 32 * half, group,
                    4 * half + group, to);
      }
    }
  }
  static void write_group(const std::byte* low, const std::byte* high, int part, int group,
                          const Lane& to) {
    const int shift = part < 2 ? 0 : 4;
    for (int v = 0; v < 4; ++v) {
      const uint32_t front = get<uint32_t>(low + 4 * v) >> shift & kLowNibbles;
      const uint32_t back = get<uint32_t>(low + 16 + 4 * v) >> shift & kLowNibbles;
      to.put_quad(group, v, front | back << 4);
    }
    for (int v = 0; v < 2; ++v) {
      uint32_t plane = 0;
      for (int i = 0; i < 4; ++i) {
        const auto quad = get<uint32_t>(high + 16 * v + 4 * i);
        plane |= (quad >> 2 * part & 0x03030303U) << 2 * i;
      }
      to.put_quad(group, 4 + v, plane);
    }
  }
};

// Lanes in turn inside a record: its lines stay in the first-level cache.
template <class Format, int kLanes>
void pack_records(const PanelSource& source, const WeightScheme& scheme, uint32_t sign_flip,
                  std::byte* out) {
  Lane to{out, 0, kLanes, scheme.header_bytes(kLanes), scheme.code_bytes(kLanes), sign_flip};
  const int64_t records = source.columns / scheme.record_size();
  for (int64_t r = 0; r < records; ++r) {
    const std::byte* blocks = source.rows + r * Format::kBlockBytes;
    to.lane = 0;
    if constexpr (TakesFourLanes<Format>) {
      for (; to.lane + 4 <= source.num_rows; to.lane += 4) {
        Format::write_four_lanes(blocks + to.lane * source.row_bytes, source.row_bytes, to);
      }
    }
    for (; to.lane < source.num_rows; ++to.lane) {
      Format::write(blocks + to.lane * source.row_bytes, to);
    }
    to.record += scheme.record_bytes(kLanes);
  }
}

template <class Format>
bool pack_format(const PanelSource& source, const WeightScheme& scheme, int lanes,
                 uint32_t sign_flip, std::byte* out) {
  switch (lanes) {
    case 1:
      pack_records<Format, 1>(source, scheme, sign_flip, out);
      return true;
    case 4:
      pack_records<Format, 4>(source, scheme, sign_flip, out);
      return true;
    case 8:
      pack_records<Format, 8>(source, scheme, sign_flip, out);
      return true;
    case 16:
      pack_records<Format, 16>(source, scheme, sign_flip, out);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool pack_panel_directly(const PanelSource& source, const WeightScheme& scheme, int lanes,
                         int full_offset, std::byte* out) {
  const uint32_t flip = full_offset == 0 ? 0 : 0x80808080U;
  switch (source.format.dtype) {
    case DType::kQ8_0:
      return pack_format<Q8_0>(source, scheme, lanes, flip, out);
    case DType::kQ4_0:
      return pack_format<Q4_0>(source, scheme, lanes, flip, out);
    case DType::kQ4_1:
      return pack_format<Q4_1>(source, scheme, lanes, flip, out);
    case DType::kQ5_0:
      return pack_format<Q5_0>(source, scheme, lanes, flip, out);
    case DType::kQ5_1:
      return pack_format<Q5_1>(source, scheme, lanes, flip, out);
    case DType::kQ4_K:
      return pack_format<Q4_K>(source, scheme, lanes, flip, out);
    case DType::kQ5_K:
      return pack_format<Q5_K>(source, scheme, lanes, flip, out);
    case DType::kQ6_K:
      return pack_format<Q6_K>(source, scheme, lanes, flip, out);
    default:
      return false;
  }
}

}  // namespace quern::cpu
