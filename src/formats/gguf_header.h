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

// What stands before the metadata.
struct Preamble {
  uint32_t version = 0;
  std::endian order = std::endian::little;
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
Result<Metadata> read_metadata(ByteCursor& cursor, int64_t num_keys);
// Entries in the order of the file.
Result<std::vector<TensorEntry>> read_tensor_entries(ByteCursor& cursor, int64_t num_tensors);
// The power of two that general.alignment states, or 32.
Result<int64_t> read_alignment(const Metadata& metadata);

}  // namespace quern::gguf
