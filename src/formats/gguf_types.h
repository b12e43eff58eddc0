// Numbers that the GGUF format fixes: magic, versions, value types, tensor types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "formats/metadata_value.h"
#include "quern/dtype.h"
#include "quern/error.h"

namespace quern::gguf {

// The first bytes of each file.
inline constexpr std::string_view kMagic = "GGUF";
inline constexpr uint32_t kVersion = 3;  // what the writer writes; the reader takes 2 and 3
// Of tensors, where the file does not say.
inline constexpr int64_t kDefaultAlignment = 32;
inline constexpr std::string_view kAlignmentKey = "general.alignment";
inline constexpr uint32_t kArrayId = 9;           // value type id of an array
inline constexpr uint64_t kMaxNameBytes = 65535;  // of a key (GGUF) and of a tensor name (ours)

// Value type ids; nothing for an array (kArrayId) and for unknown ids.
std::optional<MetadataType> find_metadata_type(uint32_t id);
// The number that files have for it.
uint32_t metadata_type_id(MetadataType type);

// ggml's tensor type ids. Errors: text that continues "<name of the tensor> ...".
// Codes: kUnimplemented for types that once were in the format, kInvalidArgument for unknown ids.
Result<DType> find_tensor_dtype(uint32_t id);
// Nothing for dtypes that ggml does not have.
std::optional<uint32_t> tensor_type_id(DType dtype);

}  // namespace quern::gguf
