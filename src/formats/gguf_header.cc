// Header parsing. Sizes are compared with the bytes that remain before anything is allocated.
// Files come from anywhere: every length and count is checked before it is believed, and errors
// name byte and key.
#include "formats/gguf_header.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/fail.h"
#include "formats/byte_order.h"
#include "formats/gguf_types.h"

namespace quern::gguf {
namespace {

// The least a key takes: length, one byte of name, type, one byte of value.
constexpr size_t kMinKeyBytes = 8 + 1 + 4 + 1;
// The least a tensor entry takes: length, one byte of name, rank, type, offset.
constexpr size_t kMinEntryBytes = 8 + 1 + 4 + 4 + 8;

// "... ends at byte N inside of ...".
tl::unexpected<Error> truncated(std::string_view what, const ByteCursor& cursor) {
  return fail::data_loss("The file ends inside {} at byte {}: {} bytes remain.", what,
                         cursor.offset(), cursor.remaining());
}

// A key or a tensor name: 1 to 65,535 bytes without control characters.
Result<std::string> read_name(ByteCursor& cursor, std::string_view kind, int64_t position) {
  const size_t start = cursor.offset();
  uint64_t size = 0;
  if (!cursor.take_number(size)) {
    return truncated(fmt::format("{} number {}", kind, position), cursor);
  }
  if (size == 0 || size > kMaxNameBytes) {
    // The limit comes before the size is compared with the bytes that remain: 2^64 - 1 is as much a
    // malformed name as 70,000 is.
    return fail::invalid("The name of {} number {} at byte {} has {} bytes; 1 to {} are allowed.",
                         kind, position, start, size, kMaxNameBytes);
  }
  std::string_view name;
  if (!cursor.take_bytes(size, name)) {
    return fail::data_loss("The name of {} number {} at byte {} has {} bytes; {} remain.", kind,
                           position, start, size, cursor.remaining());
  }
  if (!is_valid_name(name)) {
    return fail::invalid("The name of {} number {} at byte {} holds a control character.", kind,
                         position, start);
  }
  return std::string(name);
}

// Texts of one array, in two passes: the first checks every length, so that the second can
// allocate exactly what the file holds.
Result<MetadataValue> read_texts(ByteCursor& cursor, uint64_t count) {
  // Each text takes 8 bytes for its size at the least, so this bounds `count` before any loop.
  if (count > cursor.remaining() / sizeof(uint64_t)) return truncated("the array", cursor);
  ByteCursor scout = cursor;
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    std::string_view text;
    const size_t start = scout.offset();
    if (!scout.take_number(size) || !scout.take_bytes(size, text)) {
      return fail::data_loss("String {} at byte {} has {} bytes; {} remain.", i, start, size,
                             scout.remaining());
    }
    // No overflow: every size was compared with the bytes of the file.
    total += size;
  }
  std::string bytes;
  std::vector<uint64_t> ends;
  bytes.reserve(total);
  ends.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    std::string_view text;
    cursor.take_number(size);
    cursor.take_bytes(size, text);
    bytes += text;
    ends.push_back(bytes.size());
  }
  return MetadataValue::packed_texts(std::move(bytes), std::move(ends));
}

// `count` numbers or bools, turned to host order.
Result<MetadataValue> read_numbers(ByteCursor& cursor, MetadataType type, bool is_array,
                                   uint64_t count) {
  const auto width = static_cast<uint64_t>(metadata_type_bytes(type));
  std::string_view raw;
  // A division first: count * width may wrap around 2^64.
  if (count > cursor.remaining() / width || !cursor.take_bytes(count * width, raw)) {
    return fail::data_loss("The value at byte {} has {} elements of type {}; {} bytes remain.",
                           cursor.offset(), count, metadata_type_name(type), cursor.remaining());
  }
  if (type == MetadataType::kBool) {
    // A bool with another byte would be undefined behaviour once it is read as one.
    const auto bad = std::ranges::find_if(raw, [](char c) { return c != 0 && c != 1; });
    if (bad != raw.end()) {
      return fail::invalid("A bool before byte {} holds {}; 0 or 1 is needed.", cursor.offset(),
                           static_cast<int>(static_cast<unsigned char>(*bad)));
    }
  }
  std::string bytes(raw);
  if (cursor.order() != std::endian::native) {
    reverse_byte_groups(std::as_writable_bytes(std::span(bytes)), width);
  }
  return MetadataValue::packed(type, is_array, std::move(bytes));
}

// Length, then bytes. Any bytes may stand in a text.
Result<MetadataValue> read_text(ByteCursor& cursor) {
  uint64_t size = 0;
  std::string_view text;
  const size_t start = cursor.offset();
  if (!cursor.take_number(size)) return truncated("a string", cursor);
  if (!cursor.take_bytes(size, text)) {
    return fail::data_loss("The string at byte {} has {} bytes; {} remain.", start, size,
                           cursor.remaining());
  }
  return MetadataValue::text(text);
}

// Arrays of arrays are refused: no reader has them.
Result<MetadataValue> read_array(ByteCursor& cursor) {
  uint32_t id = 0;
  uint64_t count = 0;
  if (!cursor.take_number(id) || !cursor.take_number(count)) return truncated("an array", cursor);
  if (id == kArrayId) {
    return fail::unimplemented("It is an array of arrays at byte {}; arrays hold plain values.",
                               cursor.offset());
  }
  const auto type = find_metadata_type(id);
  if (!type)
    return fail::invalid("Elements before byte {} are of the unknown type {}.", cursor.offset(),
                         id);
  if (*type == MetadataType::kString) return read_texts(cursor, count);
  return read_numbers(cursor, *type, true, count);
}

// Type, then value. Errors: an unknown type.
Result<MetadataValue> read_value(ByteCursor& cursor) {
  uint32_t id = 0;
  if (!cursor.take_number(id)) return truncated("a value type", cursor);
  if (id == kArrayId) return read_array(cursor);
  const auto type = find_metadata_type(id);
  if (!type)
    return fail::invalid("The value before byte {} is of the unknown type {}.", cursor.offset(),
                         id);
  if (*type == MetadataType::kString) return read_text(cursor);
  return read_numbers(cursor, *type, false, 1);
}

// ggml's dims, innermost first, as a Shape.
Result<Shape> read_shape(ByteCursor& cursor) {
  uint32_t rank = 0;
  if (!cursor.take_number(rank)) return truncated("the shape", cursor);
  if (rank > kMaxRank) {
    return fail::invalid("The rank before byte {} is {}; the limit is {}.", cursor.offset(), rank,
                         kMaxRank);
  }
  std::array<int64_t, kMaxRank> dims{};
  // Filled from the back: the file has the innermost extent first, a Shape the outermost.
  for (uint32_t i = rank; i-- > 0;) {
    if (!cursor.take_number(dims[i])) return truncated("the shape", cursor);
    if (dims[i] < 1) {
      return fail::invalid("The extent before byte {} is {}; at least 1 is needed.",
                           cursor.offset(), dims[i]);
    }
  }
  return Shape::make(std::span(dims).first(rank));
}

// Name, extents, type and offset of one tensor. Errors name it, or its place where it has no name
// yet.
Result<TensorEntry> read_entry(ByteCursor& cursor, int64_t position) {
  TensorEntry entry;
  QUERN_ASSIGN_OR_RETURN(entry.name, read_name(cursor, "tensor", position));
  const auto context = fmt::format("Tensor '{}'", shortened(entry.name));
  const auto shape = read_shape(cursor);
  if (!shape) return tl::unexpected(shape.error().with_context(context));
  entry.shape = *shape;
  uint32_t type_id = 0;
  if (!cursor.take_number(type_id) || !cursor.take_number(entry.offset)) {
    return tl::unexpected(truncated("the entry", cursor).value().with_context(context));
  }
  const auto dtype = find_tensor_dtype(type_id);
  if (!dtype) {
    return fail::with(dtype.error().code, "{} before byte {} {}.", context, cursor.offset(),
                      dtype.error().message);
  }
  entry.dtype = *dtype;
  return entry;
}

}  // namespace

// Printable enough for errors and tools: no controls.
bool is_valid_name(std::string_view name) {
  const auto is_control = [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code < 0x20 || code == 0x7f;
  };
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::none_of(name, is_control);
}

// Names come from files: errors quote the begin.
std::string shortened(std::string_view name) {
  return name.size() <= 80 ? std::string(name) : std::string(name.substr(0, 77)) + "...";
}

// Magic, version and counts. The byte order follows from the version.
Result<Preamble> read_preamble(std::span<const std::byte> bytes) {
  Preamble result;
  ByteCursor cursor(bytes);
  std::string_view magic;
  if (!cursor.take_bytes(kMagic.size(), magic)) return truncated("the magic number", cursor);
  if (magic != kMagic) return fail::invalid("It does not begin with 'GGUF'; it is another format.");
  if (!cursor.take_number(result.version)) return truncated("the version", cursor);
  // Versions are small, so a version whose low half is zero was written in the other order.
  // Version 3 in big-endian bytes is 00 00 00 03, which reads as 3 << 24 in little-endian. The
  // magic text is the same in both orders.
  if (result.version != 0 && (result.version & 0xffff) == 0) {
    result.order = std::endian::big;
    cursor = ByteCursor(bytes, std::endian::big);
    cursor.take_bytes(kMagic.size(), magic);
    cursor.take_number(result.version);
  }
  if (result.version == 1) {
    return fail::unimplemented(
        "GGUF version 1 is not supported; versions 2 and 3 are. "
        "Convert the model again.");
  }
  if (result.version != 2 && result.version != 3) {
    return fail::invalid("GGUF version {} is unknown; versions 2 and 3 are supported.",
                         result.version);
  }
  if (!cursor.take_number(result.num_tensors) || !cursor.take_number(result.num_keys)) {
    return truncated("the counts of tensors and keys", cursor);
  }
  result.size_bytes = cursor.offset();
  return result;
}

// Errors: a key twice, malformed values; they name the key.
Result<Metadata> read_metadata(ByteCursor& cursor, int64_t num_keys) {
  // A count that the rest of the file cannot hold is refused at once, by a message about the count.
  if (num_keys < 0 || static_cast<uint64_t>(num_keys) > cursor.remaining() / kMinKeyBytes) {
    return fail::data_loss("The header announces {} metadata keys; {} bytes remain.", num_keys,
                           cursor.remaining());
  }
  Metadata metadata;
  for (int64_t i = 0; i < num_keys; ++i) {
    QUERN_ASSIGN_OR_RETURN(std::string key, read_name(cursor, "metadata key", i));
    auto value = read_value(cursor);
    if (!value) {
      return tl::unexpected(
          value.error().with_context(fmt::format("Metadata key '{}'", shortened(key))));
    }
    const size_t end = cursor.offset();
    const auto added = metadata.add(std::move(key), std::move(*value));
    if (!added) {
      return tl::unexpected(added.error().with_context(fmt::format("Before byte {}", end)));
    }
  }
  return metadata;
}

// Errors: those of read_entry(), and a name twice.
Result<std::vector<TensorEntry>> read_tensor_entries(ByteCursor& cursor, int64_t num_tensors) {
  if (num_tensors < 0 || static_cast<uint64_t>(num_tensors) > cursor.remaining() / kMinEntryBytes) {
    return fail::data_loss("The header announces {} tensors; {} bytes remain.", num_tensors,
                           cursor.remaining());
  }
  std::vector<TensorEntry> entries;
  for (int64_t i = 0; i < num_tensors; ++i) {
    QUERN_ASSIGN_OR_RETURN(TensorEntry entry, read_entry(cursor, i));
    entries.push_back(std::move(entry));
  }
  return entries;
}

// general.alignment, a power of two, or 32.
Result<int64_t> read_alignment(const Metadata& metadata) {
  QUERN_ASSIGN_OR_RETURN(const int64_t alignment,
                         metadata.integer_or(kAlignmentKey, kDefaultAlignment));
  const bool is_power_of_two = alignment > 0 && (alignment & (alignment - 1)) == 0;
  // At least the width of f64, the widest element of ggml; past 2^30 the padding would be absurd.
  if (!is_power_of_two || alignment < 8 || alignment > (int64_t{1} << 30)) {
    return fail::invalid("Metadata key '{}' is {}; a power of two from 8 to 2^30 is needed.",
                         kAlignmentKey, alignment);
  }
  return alignment;
}

}  // namespace quern::gguf
