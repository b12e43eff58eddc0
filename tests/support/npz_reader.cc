// Formats: NumPy enhancement proposal 1 (.npy 1.0 and 2.0); zip through the central directory.
#include "support/npz_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/mapped_file.h"

namespace quern::test {
namespace {

using Bytes = std::span<const std::byte>;

// Little-endian unsigned integer of `size` bytes at `at`, or nothing past the end.
std::optional<uint64_t> read_uint(Bytes bytes, size_t at, size_t size) {
  if (at > bytes.size() || bytes.size() - at < size) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[at + i]);
  return value;
}

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The text after `'key':` in the header's Python dictionary.
std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

std::optional<std::string> parse_descr(std::string_view header) {
  const std::string_view value = value_of(header, "descr");
  if (value.empty() || value[0] != '\'') return std::nullopt;
  const size_t end = value.find('\'', 1);
  // The kind and size follow the byte order: at least three characters.
  if (end == std::string_view::npos || end < 3) return std::nullopt;
  return std::string(value.substr(1, end - 1));
}

// Bytes of an element, from the digits of "<f4".
std::optional<int64_t> element_size(std::string_view descr) {
  int64_t size = 0;
  const char* end = descr.data() + descr.size();
  const auto [stop, error] = std::from_chars(descr.data() + 2, end, size);
  // The largest element of NumPy's numbers is complex256, 32 bytes.
  if (error != std::errc() || stop != end || size < 1 || size > 64) return std::nullopt;
  return size;
}

std::optional<std::vector<int64_t>> parse_shape(std::string_view header) {
  const std::string_view value = value_of(header, "shape");
  const size_t close = value.find(')');
  // "(2, 3)", "(5,)" and "()" for a number.
  if (value.empty() || value[0] != '(' || close == std::string_view::npos) return std::nullopt;
  std::vector<int64_t> shape;
  const char* at = value.data() + 1;
  const char* end = value.data() + close;
  while (at != end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t extent = 0;
    const auto [stop, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0) return std::nullopt;
    shape.push_back(extent);
    at = stop;
  }
  return shape;
}

// Nothing where the bytes would pass 63 bits.
std::optional<int64_t> product(const std::vector<int64_t>& shape, int64_t start) {
  std::optional<int64_t> size = start;
  for (int64_t extent : shape) {
    size = checked_multiply(*size, extent);
    if (!size) return std::nullopt;
  }
  return size;
}

// Walks the index in C order and reads at the place where the first axis is the fastest.
std::vector<std::byte> fortran_to_c_order(Bytes data, const std::vector<int64_t>& shape,
                                          size_t size) {
  std::vector<std::byte> out(data.size());
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t to = 0; to < data.size(); to += size) {
    int64_t from = 0;
    for (size_t axis = shape.size(); axis-- > 0;) from = from * shape[axis] + index[axis];
    std::memcpy(out.data() + to, data.data() + static_cast<size_t>(from) * size, size);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

constexpr uint64_t kEndOfDirectory = 0x06054b50;
constexpr uint64_t kDirectoryEntry = 0x02014b50;
constexpr size_t kEndOfDirectoryBytes = 22;
constexpr size_t kDirectoryEntryBytes = 46;
constexpr size_t kLocalHeaderBytes = 30;

// The end record stands before an archive comment of at most 65,535 bytes.
std::optional<size_t> find_end_of_directory(Bytes file) {
  // From the end: an archive without a comment is found at once.
  for (size_t back = kEndOfDirectoryBytes; back <= file.size() && back < 65536 + 22; ++back) {
    if (read_uint(file, file.size() - back, 4) == kEndOfDirectory) return file.size() - back;
  }
  return std::nullopt;
}

// The stored bytes of the entry whose directory record is at `at`.
Result<Bytes> entry_bytes(Bytes file, size_t at, std::string_view name) {
  const uint64_t method = *read_uint(file, at + 10, 2);
  const uint64_t size = *read_uint(file, at + 20, 4);
  const uint64_t local = *read_uint(file, at + 42, 4);
  // np.savez stores; only np.savez_compressed deflates.
  if (method != 0) {
    return fail::unimplemented("Entry '{}' uses zip method {}; only 0 (stored) is read.", name,
                               method);
  }
  // The local header may have another extra field than the directory, so its own size counts.
  const auto name_size = read_uint(file, local + 26, 2);
  const auto extra_size = read_uint(file, local + 28, 2);
  if (!name_size || !extra_size) {
    return fail::data_loss("Entry '{}' starts past the end of the archive.", name);
  }
  const uint64_t start = local + kLocalHeaderBytes + *name_size + *extra_size;
  // In this order, so that the subtraction cannot wrap.
  if (start > file.size() || file.size() - start < size) {
    return fail::data_loss("Entry '{}' needs {} bytes at {}; the archive has {}.", name, size,
                           start, file.size());
  }
  return file.subspan(start, size);
}

}  // namespace

int64_t NpyArray::num_elements() const {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

Result<NpyArray> parse_npy(Bytes file) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (file.size() < 10 || !as_text(file).starts_with(kMagic)) {
    return fail::data_loss("The bytes do not start with the .npy magic.");
  }
  // Version 1 has a length of 2 bytes, version 2 of 4.
  const size_t length_bytes = std::to_integer<int>(file[6]) == 1 ? 2 : 4;
  const auto header_size = read_uint(file, 8, length_bytes);
  const size_t header_at = 8 + length_bytes;
  if (!header_size || file.size() - header_at < *header_size) {
    return fail::data_loss("The .npy header ends past the file's {} bytes.", file.size());
  }
  const std::string_view header = as_text(file.subspan(header_at, *header_size));
  auto descr = parse_descr(header);
  auto shape = parse_shape(header);
  const auto size = descr ? element_size(*descr) : std::nullopt;
  const auto total = shape && size ? product(*shape, *size) : std::nullopt;
  if (!total) return fail::data_loss("The .npy header '{}' is not understood.", header);
  const Bytes data = file.subspan(header_at + *header_size);
  if (static_cast<int64_t>(data.size()) < *total) {
    return fail::data_loss("The array needs {} bytes; the file has {}.", *total, data.size());
  }
  const Bytes used = data.first(static_cast<size_t>(*total));
  NpyArray array{*std::move(descr), *std::move(shape), {}};
  if (value_of(header, "fortran_order").starts_with("True")) {
    array.bytes = fortran_to_c_order(used, array.shape, static_cast<size_t>(*size));
  } else {
    array.bytes.assign(used.begin(), used.end());
  }
  return array;
}

Result<NpzArchive> parse_npz(Bytes file) {
  const auto end = find_end_of_directory(file);
  if (!end) return fail::data_loss("The bytes have no zip end record.");
  const uint64_t count = *read_uint(file, *end + 10, 2);
  size_t at = *read_uint(file, *end + 16, 4);
  NpzArchive archive;
  for (uint64_t i = 0; i < count; ++i) {
    if (read_uint(file, at, 4) != kDirectoryEntry || file.size() - at < kDirectoryEntryBytes) {
      return fail::data_loss("Directory record {} of {} is damaged.", i, count);
    }
    // All fixed fields of the record were checked above to be in the file.
    const size_t name_size = *read_uint(file, at + 28, 2);
    const size_t skip = name_size + *read_uint(file, at + 30, 2) + *read_uint(file, at + 32, 2);
    if (file.size() - at - kDirectoryEntryBytes < skip) {
      return fail::data_loss("Directory record {} of {} is truncated.", i, count);
    }
    // The name, then an extra field and a comment.
    std::string_view name = as_text(file.subspan(at + kDirectoryEntryBytes, name_size));
    QUERN_ASSIGN_OR_RETURN(const Bytes bytes, entry_bytes(file, at, name));
    auto array = parse_npy(bytes);
    if (!array) return tl::unexpected(array.error().with_context(name));
    // np.savez appends it to the keys.
    if (name.ends_with(".npy")) name.remove_suffix(4);
    archive.emplace(name, *std::move(array));
    at += kDirectoryEntryBytes + skip;
  }
  return archive;
}

Result<NpzArchive> read_npz(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  auto archive = parse_npz(file->bytes());
  if (!archive) return tl::unexpected(archive.error().with_context("while reading " + path));
  return archive;
}

Result<NpyArray> read_npy(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  auto array = parse_npy(file->bytes());
  if (!array) return tl::unexpected(array.error().with_context("while reading " + path));
  return array;
}

}  // namespace quern::test
