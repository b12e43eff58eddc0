// The parts of a GGUF header, read one after another from untrusted bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/byte_cursor.h"
#include "formats/metadata.h"
#include "quern/dtype.h"
#include "quern/shape.h"

namespace quern::gguf {

// The file, by the GGUF specification (ggml, docs/gguf.md); all numbers are in the file's order:
//   "GGUF" | u32 version | i64 tensors | i64 keys                                   24 bytes
//   each key:    u64 size, name | u32 type | value
//     value:     a number | one byte 0 or 1 | u64 size, text | u32 type, u64 count, elements
//   each tensor: u64 size, name | u32 rank | i64 extents, innermost first | u32 type | u64 offset
//   zeros up to the alignment
//   data:        tensors at their offsets, which count from here and are multiples of the alignment

// What stands before the metadata.
struct Preamble {
  uint32_t version = 0;
  std::endian order = std::endian::little;
  // Counts as stated, not checked yet: they may be negative or absurd.
  int64_t num_tensors = 0;
  int64_t num_keys = 0;
  size_t size_bytes = 0;  // the keys begin here
};

// A tensor's entry as the header states it; `offset` counts from the start of the data section.
struct TensorEntry {
  // As the file has it, before offsets are checked against the data.
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  // From the begin of the data.
  uint64_t offset = 0;
};

// Of a key or tensor: 1 to 65,535 bytes without control characters.
bool is_valid_name(std::string_view name);
// A hostile name as it may stand in a message: at most 80 bytes.
std::string shortened(std::string_view name);

// Errors: kInvalidArgument for other formats and versions; counts that the file cannot hold.
Result<Preamble> read_preamble(std::span<const std::byte> bytes);
// Each moves the cursor behind what it read.
// Errors: kDataLoss where the bytes end, kInvalidArgument and kUnimplemented for values that are
// malformed or of no known type; they name the key and the byte.
Result<Metadata> read_metadata(ByteCursor& cursor, int64_t num_keys);
// Entries in the order of the file.
Result<std::vector<TensorEntry>> read_tensor_entries(ByteCursor& cursor, int64_t num_tensors);
// The power of two that general.alignment states, or 32.
Result<int64_t> read_alignment(const Metadata& metadata);

}  // namespace quern::gguf
