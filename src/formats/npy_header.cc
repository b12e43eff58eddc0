// A parser of just the Python literals that the header may hold.
// NumPy itself uses Python to read it; a file must not be able to run anything here.
#include "formats/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "formats/byte_cursor.h"

namespace quern::npy {
namespace {

// The first bytes.
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = 65536;  // a shape of 8 extents needs under 300

// A row: NumPy's letter and size, and the type.
struct ElementType {
  std::string_view code;  // kind and bytes, without byte order
  DType dtype;
  bool is_bool = false;
};
// Types of both sides.
constexpr std::array kElementTypes = {
    ElementType{"f2", DType::kF16},         ElementType{"f4", DType::kF32},
    ElementType{"f8", DType::kF64},         ElementType{"i1", DType::kI8},
    ElementType{"i2", DType::kI16},         ElementType{"i4", DType::kI32},
    ElementType{"i8", DType::kI64},         ElementType{"u1", DType::kU8},
    ElementType{"u2", DType::kU16},         ElementType{"u4", DType::kU32},
    ElementType{"u8", DType::kU64},         ElementType{"c8", DType::kComplex64},
    ElementType{"c16", DType::kComplex128}, ElementType{"b1", DType::kU8, true},
};

// Walks the header text; every take_ function skips spaces first.
class Literals {
 public:
  // The header is a Python dict; this reads just what NumPy writes.
  explicit Literals(std::string_view text) : text_(text) {}

  // Moves behind it, past blanks.
  bool take(char wanted) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  // The same for a word.
  bool take_word(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  // In either quote, without escapes.
  std::optional<std::string_view> take_string() {
    skip_spaces();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const auto content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return content;
  }
  // Not negative, within 64 bits.
  std::optional<int64_t> take_extent() {
    skip_spaces();
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    at_ += static_cast<size_t>(end - begin);
    return value;
  }
  // Blanks may follow.
  bool is_at_end() {
    skip_spaces();
    return at_ == text_.size();
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

// '<f4': byte order, kind, size. Errors: types that tensors do not have.
Result<void> read_descr(Literals& literals, Header& header) {
  const auto descr = literals.take_string();
  if (!descr || descr->size() < 2) {
    return fail::unimplemented("The 'descr' of the header is not one plain element type.");
  }
  const char order = (*descr)[0];
  const auto code = descr->substr(1);
  const auto* type = std::ranges::find(kElementTypes, code, &ElementType::code);
  const bool needs_order = type != kElementTypes.end() && dtype_info(type->dtype).block_bytes > 1;
  const bool has_order = order == '<' || order == '>';
  if (type == kElementTypes.end() || !(has_order || (order == '|' && !needs_order))) {
    return fail::unimplemented("The element type '{}' is not supported.", descr->substr(0, 32));
  }
  header.dtype = type->dtype;
  header.is_bool = type->is_bool;
  header.is_big_endian = order == '>';
  return {};
}

// True or False.
Result<void> read_order(Literals& literals, Header& header) {
  header.is_fortran_order = literals.take_word("True");
  if (!header.is_fortran_order && !literals.take_word("False")) {
    return fail::invalid("The 'fortran_order' of the header is neither True nor False.");
  }
  return {};
}

// "()", "(3,)", "(3, 4)"
Result<void> read_shape(Literals& literals, Header& header) {
  if (!literals.take('(')) return fail::invalid("The 'shape' of the header is not a tuple.");
  std::vector<int64_t> dims;
  bool is_done = literals.take(')');
  while (!is_done) {
    const auto extent = literals.take_extent();
    if (!extent) return fail::invalid("The 'shape' of the header holds no valid extent.");
    if (dims.size() == kMaxRank) {
      return fail::invalid("The 'shape' of the header has more than {} extents.", kMaxRank);
    }
    dims.push_back(*extent);
    const bool has_comma = literals.take(',');
    is_done = literals.take(')');
    if (!has_comma && !is_done) {
      return fail::invalid("The 'shape' of the header is not a tuple.");
    }
  }
  QUERN_ASSIGN_OR_RETURN(header.shape, Shape::make(dims));
  return {};
}

// The three keys, each once, in any order.
Result<Header> read_dictionary(std::string_view text) {
  Literals literals(text);
  Header header;
  // Bits 1, 2 and 4 for the three keys; 7 is all of them.
  unsigned seen = 0;
  if (!literals.take('{')) return fail::invalid("The header is not a dictionary.");
  while (!literals.take('}')) {
    const auto key = literals.take_string();
    if (!key || !literals.take(':')) return fail::invalid("The header is not a dictionary.");
    unsigned bit = 0;
    if (*key == "descr") {
      bit = 1;
      QUERN_TRY(read_descr(literals, header));
    } else if (*key == "fortran_order") {
      bit = 2;
      QUERN_TRY(read_order(literals, header));
    } else if (*key == "shape") {
      bit = 4;
      QUERN_TRY(read_shape(literals, header));
    }
    if (bit == 0 || (seen & bit) != 0) {
      return fail::invalid("The header has the key '{}' twice or out of place.",
                           key->substr(0, 32));
    }
    seen |= bit;
    // NumPy writes a comma behind the last value too; a missing one is let pass.
    literals.take(',');
  }
  if (seen != 7 || !literals.is_at_end()) {
    return fail::invalid("The header does not hold exactly 'descr', 'fortran_order' and 'shape'.");
  }
  return header;
}

}  // namespace

// Versions 1 to 3; errors tell what of the header does not fit.
Result<Header> read_header(std::span<const std::byte> file) {
  ByteCursor cursor(file);
  std::string_view magic;
  uint8_t version = 0;
  uint8_t minor = 0;
  if (!cursor.take_bytes(kMagic.size(), magic) || magic != kMagic) {
    return fail::invalid("It does not begin with NumPy's magic text; it is another format.");
  }
  cursor.take_number(version);
  if (!cursor.take_number(minor) || version < 1 || version > 3 || minor != 0) {
    return fail::invalid("The .npy version {}.{} is unknown; 1.0, 2.0 and 3.0 are supported.",
                         version, minor);
  }
  uint16_t short_length = 0;
  uint32_t length = 0;
  if (!(version == 1 ? cursor.take_number(short_length) : cursor.take_number(length))) {
    return fail::data_loss("The file ends inside the header.");
  }
  if (version == 1) length = short_length;
  std::string_view text;
  if (length > kMaxHeaderBytes || !cursor.take_bytes(length, text)) {
    return fail::data_loss("The header has {} bytes; {} remain and the limit is {}.", length,
                           cursor.remaining(), kMaxHeaderBytes);
  }
  QUERN_ASSIGN_OR_RETURN(Header header, read_dictionary(text));
  header.size_bytes = cursor.offset();
  return header;
}

// Padded with blanks so that the data are aligned to 64 bytes, as NumPy does.
Result<std::string> make_header(DType dtype, const Shape& shape, bool is_bool) {
  const auto matches = [&](const ElementType& type) {
    return type.dtype == dtype && type.is_bool == is_bool;
  };
  const auto* type = std::ranges::find_if(kElementTypes, matches);
  if (type == kElementTypes.end()) {
    return fail::unimplemented("NumPy has no element type for {}; convert the tensor first.",
                               dtype_name(dtype));
  }
  const char order = dtype_info(dtype).block_bytes > 1 ? '<' : '|';
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order,
                  type->code, fmt::join(shape.dims(), ", "), shape.rank() == 1 ? "," : "");
  // Version and size, 2 bytes each, stand between the magic text and the dictionary.
  const size_t preamble = kMagic.size() + 4;
  // Plus 1 for the line break at the end.
  const size_t total = (preamble + text.size() + 1 + 63) / 64 * 64;
  text.resize(total - preamble - 1, ' ');
  text += '\n';
  std::string header(kMagic);
  header +=
      {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace quern::npy
