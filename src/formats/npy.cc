// Data of .npy files.
// Row-major little-endian data are used in place; other orders are copied.
#include "formats/npy.h"

#include <array>
#include <cstring>
#include <utility>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "formats/byte_order.h"
#include "formats/npy_header.h"

namespace quern {
namespace {

// Copies elements of `width` bytes from first-axis-fastest to last-axis-fastest order.
void transpose_to_row_major(const Shape& shape, size_t width, const std::byte* source,
                            std::byte* target) {
  std::array<int64_t, kMaxRank> index{};
  std::array<int64_t, kMaxRank> stride{};  // of the source, in elements
  int64_t step = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    stride[static_cast<size_t>(axis)] = step;
    step *= shape[axis];
  }
  int64_t at = 0;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    std::memcpy(target + static_cast<size_t>(i) * width, source + static_cast<size_t>(at) * width,
                width);
    // An odometer over the target's order: `at` follows in the source by one stride for each step
    // and goes back by the whole axis where an index wraps.
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto a = static_cast<size_t>(axis);
      at += stride[a];
      if (++index[a] < shape[axis]) break;
      at -= stride[a] * shape[axis];
      index[a] = 0;
    }
  }
}

// Errors: the data are shorter or longer than the header says.
Result<void> check_size(const npy::Header& header, size_t num_data_bytes) {
  QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(header.dtype, header.shape));
  if (static_cast<uint64_t>(size) > num_data_bytes) {
    return fail::data_loss("An array of shape {} has {} bytes; the file holds {}.",
                           header.shape.to_string(), size, num_data_bytes);
  }
  if (static_cast<uint64_t>(size) < num_data_bytes) {
    return fail::invalid("An array of shape {} has {} bytes; the file holds {}.",
                         header.shape.to_string(), size, num_data_bytes);
  }
  return {};
}

// Bytes other than 0 and 1 would be undefined as bool.
Result<void> check_bools(std::span<const std::byte> data) {
  for (const std::byte value : data) {
    if (value > std::byte{1}) {
      return fail::invalid("An array of bools holds {}; 0 or 1 is needed.",
                           static_cast<int>(value));
    }
  }
  return {};
}

// Into row-major order and the host's byte order, element by element.
Result<Tensor> copy_elements(const npy::Header& header, std::span<const std::byte> data) {
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(header.dtype, header.shape));
  if (data.empty()) return tensor;
  QUERN_ASSIGN_OR_RETURN(const auto view, tensor.buffer().mutable_host_view());
  if (header.is_fortran_order) {
    const auto width = static_cast<size_t>(dtype_info(header.dtype).block_bytes);
    transpose_to_row_major(header.shape, width, data.data(), view.data());
  } else {
    std::memcpy(view.data(), data.data(), data.size());
  }
  if (header.is_big_endian) QUERN_TRY(swap_byte_order(header.dtype, view));
  return tensor;
}

}  // namespace

// Points into `bytes` where nothing must change; `owner` keeps them alive.
Result<NpyArray> parse_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  QUERN_ASSIGN_OR_RETURN(const npy::Header header, npy::read_header(bytes));
  const auto data = bytes.subspan(header.size_bytes);
  QUERN_TRY(check_size(header, data.size()));
  if (header.is_bool) QUERN_TRY(check_bools(data));
  // 16 bytes is the widest element, complex128. Files of NumPy align to 64 (versions before 1.14 to
  // 16); another writer's may lie anywhere.
  const bool is_aligned = reinterpret_cast<uintptr_t>(data.data()) % 16 == 0;
  if (header.is_fortran_order || header.is_big_endian || !is_aligned || data.empty()) {
    QUERN_ASSIGN_OR_RETURN(Tensor tensor, copy_elements(header, data));
    return NpyArray{std::move(tensor), header.is_bool};
  }
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(header.dtype, header.shape,
                                                     Buffer::wrap_host(data, std::move(owner))));
  return NpyArray{std::move(tensor), header.is_bool};
}

// Errors: those of the file and of its header; they name the path.
Result<NpyArray> read_npy(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(path));
  auto array = parse_npy(mapped->bytes(), mapped);
  if (!array) {
    return tl::unexpected(array.error().with_context(fmt::format("While reading '{}'", path)));
  }
  return array;
}

// Row-major and little-endian, version 1.0 where the header fits.
Result<void> write_npy(const std::string& path, const Tensor& tensor) {
  return write_npy(path, NpyArray{tensor, false});
}

Result<void> write_npy(const std::string& path, const NpyArray& array) {
  const Tensor& tensor = array.tensor;
  QUERN_ASSIGN_OR_RETURN(const std::string header,
                         npy::make_header(tensor.dtype(), tensor.shape(), array.is_bool));
  QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.read());
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  QUERN_TRY(file.write(header));
  QUERN_TRY(file.write(bytes));
  return file.commit();
}

}  // namespace quern
