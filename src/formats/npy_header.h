// The text header of a .npy file: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "quern/dtype.h"
#include "quern/error.h"
#include "quern/shape.h"

namespace quern::npy {

// The layout (NumPy's format description, numpy.lib.format):
//   "\x93NUMPY" | u8 major | u8 minor | u16 size (major 1) or u32 size (2, 3) | text | data
// The text is a Python dict, padded with blanks and a line break up to a multiple of 64 bytes.

// What the header says. A plain value.
struct Header {
  DType dtype = DType::kF32;
  bool is_bool = false;
  bool is_big_endian = false;
  bool is_fortran_order = false;
  Shape shape;
  size_t size_bytes = 0;  // the data begins here
};

// Errors: kInvalidArgument, kUnimplemented for dtypes that tensors do not have.
Result<Header> read_header(std::span<const std::byte> file);
// Magic, version 1, length and text, padded to 64 bytes. Errors: kUnimplemented (dtype).
Result<std::string> make_header(DType dtype, const Shape& shape, bool is_bool);

}  // namespace quern::npy
