// The id tables of GGUF and ggml.
// Numbers are part of the format and never change; removed ones are never used again.
#include <algorithm>
#include <array>

#include "base/fail.h"
#include "formats/gguf_types.h"

namespace quern::gguf {
namespace {

// A row: number in files, and type.
struct ValueType {
  uint32_t id;
  MetadataType type;
};
// Numbers of metadata values, as the format's description has them.
constexpr std::array kValueTypes = {
    ValueType{0, MetadataType::kUint8},   ValueType{1, MetadataType::kInt8},
    ValueType{2, MetadataType::kUint16},  ValueType{3, MetadataType::kInt16},
    ValueType{4, MetadataType::kUint32},  ValueType{5, MetadataType::kInt32},
    ValueType{6, MetadataType::kFloat32}, ValueType{7, MetadataType::kBool},
    ValueType{8, MetadataType::kString},  ValueType{10, MetadataType::kUint64},
    ValueType{11, MetadataType::kInt64},  ValueType{12, MetadataType::kFloat64},
};

// A row: number in files, and type.
struct TensorType {
  uint32_t id;
  DType dtype;
};
// Numbers of tensor types.
constexpr std::array kTensorTypes = {
    TensorType{0, DType::kF32},     TensorType{1, DType::kF16},
    TensorType{2, DType::kQ4_0},    TensorType{3, DType::kQ4_1},
    TensorType{6, DType::kQ5_0},    TensorType{7, DType::kQ5_1},
    TensorType{8, DType::kQ8_0},    TensorType{10, DType::kQ2_K},
    TensorType{11, DType::kQ3_K},   TensorType{12, DType::kQ4_K},
    TensorType{13, DType::kQ5_K},   TensorType{14, DType::kQ6_K},
    TensorType{15, DType::kQ8_K},   TensorType{16, DType::kIQ2_XXS},
    TensorType{17, DType::kIQ2_XS}, TensorType{18, DType::kIQ3_XXS},
    TensorType{19, DType::kIQ1_S},  TensorType{20, DType::kIQ4_NL},
    TensorType{21, DType::kIQ3_S},  TensorType{22, DType::kIQ2_S},
    TensorType{23, DType::kIQ4_XS}, TensorType{24, DType::kI8},
    TensorType{25, DType::kI16},    TensorType{26, DType::kI32},
    TensorType{27, DType::kI64},    TensorType{28, DType::kF64},
    TensorType{29, DType::kIQ1_M},  TensorType{30, DType::kBF16},
    TensorType{34, DType::kTQ1_0},  TensorType{35, DType::kTQ2_0},
    TensorType{39, DType::kMXFP4},  TensorType{40, DType::kNVFP4},
    TensorType{41, DType::kQ1_0},   TensorType{42, DType::kQ2_0},
};

// Ids that ggml gave to formats and took back (repacked 4-bit forms are made at load time now).
struct RemovedType {
  uint32_t id;
  std::string_view name;
};
// Types that were removed from the format; files with them get an error of their own.
constexpr std::array kRemovedTypes = {
    RemovedType{4, "q4_2"},        RemovedType{5, "q4_3"},        RemovedType{31, "q4_0_4_4"},
    RemovedType{32, "q4_0_4_8"},   RemovedType{33, "q4_0_8_8"},   RemovedType{36, "iq4_nl_4_4"},
    RemovedType{37, "iq4_nl_4_8"}, RemovedType{38, "iq4_nl_8_8"},
};

}  // namespace

// Nothing for unknown numbers.
std::optional<MetadataType> find_metadata_type(uint32_t id) {
  const auto* found = std::ranges::find(kValueTypes, id, &ValueType::id);
  if (found == kValueTypes.end()) return std::nullopt;
  return found->type;
}

uint32_t metadata_type_id(MetadataType type) {
  return std::ranges::find(kValueTypes, type, &ValueType::type)->id;
}

// Errors: kUnimplemented for removed types and q8_1, kInvalidArgument for unknown numbers.
Result<DType> find_tensor_dtype(uint32_t id) {
  const auto* found = std::ranges::find(kTensorTypes, id, &TensorType::id);
  if (found != kTensorTypes.end()) return found->dtype;
  const auto* removed = std::ranges::find(kRemovedTypes, id, &RemovedType::id);
  if (removed != kRemovedTypes.end()) {
    return fail::unimplemented(
        "is of type {} ({}), which was removed from the format; quantise the model again", id,
        removed->name);
  }
  if (id == 9) {
    return fail::unimplemented("is of type 9 (q8_1), which is for activations, not for weights");
  }
  return fail::invalid("is of the unknown type {}", id);
}

// Nothing for types that files cannot have.
std::optional<uint32_t> tensor_type_id(DType dtype) {
  const auto* found = std::ranges::find(kTensorTypes, dtype, &TensorType::dtype);
  if (found == kTensorTypes.end()) return std::nullopt;
  return found->id;
}

}  // namespace quern::gguf
