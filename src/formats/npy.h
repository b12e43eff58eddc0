// NumPy's .npy array files.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "quern/tensor.h"

namespace quern {

// f16 f32 f64, i8..i64, u8..u64, complex64, complex128. NumPy's bool has a byte per element, unlike
// b1, and is held as u8 with `is_bool`.
struct NpyArray {
  Tensor tensor;  // dense, row-major, little-endian
  // Elements are NumPy's bool, held as u8.
  bool is_bool = false;
};

// Format versions 1 to 3. Arrays in C order and little-endian are mapped, not copied; Fortran order
// is transposed and big-endian swapped in a copy, so that element [i, j] is NumPy's [i, j].
// Errors: kNotFound, kUnavailable (the file), kDataLoss (truncated), kInvalidArgument (malformed
// header, more bytes than the shape needs), kUnimplemented (other element types).
Result<NpyArray> read_npy(const std::string& path);
// The same from memory; `owner` keeps the bytes alive.
Result<NpyArray> parse_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

// Replaces the file at once when it is complete. Writes version 1, C order, little-endian, as NumPy
// does, byte for byte. Errors: kUnimplemented (a dtype that NumPy has not), those of AtomicFile.
Result<void> write_npy(const std::string& path, const Tensor& tensor);
// u8 as NumPy's bool.
Result<void> write_npy(const std::string& path, const NpyArray& array);

}  // namespace quern
