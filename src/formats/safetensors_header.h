// The JSON header of a safetensors file:
// {"name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}} after its length as u64. Format:
// huggingface/safetensors, README.md and docs/source/index.mdx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/dtype.h"
#include "quern/error.h"
#include "quern/shape.h"

namespace quern::safetensors {

//   u64 size of the text, little-endian | text, padded with blanks | data
//   tensor bytes are data[begin, end); all tensors together cover the data, each byte once

// An element type of the format. Types that Quern has no dtype for are known by their size, so that
// the file's other tensors can be read.
struct ElementType {
  std::string_view name;       // "BF16"
  int32_t bits;                // of one element
  std::optional<DType> dtype;  // absent: listed, not readable
  bool is_bool = false;        // a byte of 0 or 1, held as u8
};
// All types lie in one table, in the format's own order: by rising size.
// Null for an unknown name.
const ElementType* find_element_type(std::string_view name);
// Null for a dtype that the format has no type for.
const ElementType* find_element_type(DType dtype, bool is_bool);

// One tensor of the header. `begin` and `end` count bytes from the start of the data.
struct Entry {
  // Offsets of bytes within the data.
  std::string name;
  const ElementType* type = nullptr;
  Shape shape;
  int64_t begin = 0;
  int64_t end = 0;
};

// Tensors by name.
struct Header {
  std::map<std::string, std::string, std::less<>> metadata;  // of the key "__metadata__"
  std::vector<Entry> entries;                                // by ascending place in the data
  int64_t data_start = 0;                                    // offset of the data in the file
};

// The longest header that readers of the format accept, in bytes.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

// Reads the header and checks all of it before any of it is believed: unique names, sizes that
// agree with dtype and shape, and data that the tensors cover without gap or overlap.
// Errors: kDataLoss (truncated), kInvalidArgument (malformed), naming the tensor.
Result<Header> read_header(std::span<const std::byte> file);

// Length and JSON text, padded with spaces to a multiple of 8 bytes, so that the data is aligned.
// Entries stand in the order of their places. Errors: kInvalidArgument for text that is no UTF-8.
Result<std::string> make_header(const Header& header);

}  // namespace quern::safetensors
