// TensorProto: dims = 1, data_type = 2, float_data = 4, int32_data = 5, string_data = 6,
// int64_data = 7, name = 8, raw_data = 9, double_data = 10, uint64_data = 11, data_location = 14.
#include "formats/onnx/onnx_tensor.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/fail.h"
#include "formats/onnx/onnx_model.h"
#include "formats/onnx/wire_reader.h"

namespace quern::onnx {
namespace {

// Numbers of TensorProto.DataType, names, and types here where there is one.
constexpr std::array kDataTypes = {
    DataType{1, "FLOAT", DType::kF32},
    DataType{2, "UINT8", DType::kU8},
    DataType{3, "INT8", DType::kI8},
    DataType{4, "UINT16", DType::kU16},
    DataType{5, "INT16", DType::kI16},
    DataType{6, "INT32", DType::kI32},
    DataType{7, "INT64", DType::kI64},
    DataType{8, "STRING", std::nullopt},
    DataType{9, "BOOL", DType::kU8},
    DataType{10, "FLOAT16", DType::kF16},
    DataType{11, "DOUBLE", DType::kF64},
    DataType{12, "UINT32", DType::kU32},
    DataType{13, "UINT64", DType::kU64},
    DataType{14, "COMPLEX64", DType::kComplex64},
    DataType{15, "COMPLEX128", DType::kComplex128},
    DataType{16, "BFLOAT16", DType::kBF16},
    DataType{17, "FLOAT8E4M3FN", DType::kF8E4M3},
    DataType{18, "FLOAT8E4M3FNUZ", std::nullopt},
    DataType{19, "FLOAT8E5M2", DType::kF8E5M2},
    DataType{20, "FLOAT8E5M2FNUZ", std::nullopt},
    DataType{21, "UINT4", std::nullopt},
    DataType{22, "INT4", std::nullopt},
    DataType{23, "FLOAT4E2M1", std::nullopt},
    DataType{24, "FLOAT8E8M0", std::nullopt},
    DataType{25, "UINT2", std::nullopt},
    DataType{26, "INT2", std::nullopt},
};

// The data of a tensor in whichever field it came.
struct Data {
  std::span<const std::byte> raw;
  bool has_raw = false;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int64_t> integers;  // int32_data, int64_data and uint64_data
};

// Truncates each number to the element's bytes, little-endian: integers of any width and the bits
// of narrow floats lie so in int32_data.
std::vector<std::byte> pack_integers(const std::vector<int64_t>& values, size_t width) {
  std::vector<std::byte> bytes;
  for (const int64_t value : values) {
    for (size_t i = 0; i < width; ++i) {
      bytes.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i) & 0xff));
    }
  }
  return bytes;
}

// Little-endian elements to those of the tensor.
template <class T>
std::vector<std::byte> pack_numbers(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The bytes of all elements. Floats and complex numbers have fields of their own.
std::vector<std::byte> element_bytes(DType dtype, const Data& data) {
  // Raw data are little-endian and dense by definition; only their count is checked, by the caller.
  if (data.has_raw) return {data.raw.begin(), data.raw.end()};
  if (dtype == DType::kF32 || dtype == DType::kComplex64) return pack_numbers(data.floats);
  if (dtype == DType::kF64 || dtype == DType::kComplex128) return pack_numbers(data.doubles);
  return pack_integers(data.integers, static_cast<size_t>(dtype_info(dtype).block_bytes));
}

// Elements stand in a field of their type or as raw bytes, never in both.
Result<void> read_field(const WireField& field, OnnxTensor& tensor, Data& data) {
  switch (field.tag) {
    case 1:
      return append_integers(field, tensor.dims);
    case 2:
      tensor.data_type = static_cast<int32_t>(field.integer());
      return {};
    case 4:
      return append_floats(field, data.floats);
    case 5:
    case 7:
    case 11:
      return append_integers(field, data.integers);
    case 8:
      tensor.name = field.text();
      return {};
    case 9:
      data.raw = field.bytes;
      data.has_raw = true;
      return {};
    case 10:
      return append_doubles(field, data.doubles);
    case 14:
      if (field.number == 0) return {};
      return fail::unimplemented("Tensor '{}' lies in another file; such tensors are not read.",
                                 tensor.name);
    default:
      return {};
  }
}

}  // namespace

// Null for unknown numbers.
const DataType* find_data_type(int32_t number) {
  const auto* type = std::ranges::find(kDataTypes, number, &DataType::number);
  return type == kDataTypes.end() ? nullptr : type;
}

// Nothing for types that tensors here do not have.
std::optional<DType> dtype_of(int32_t data_type) {
  const DataType* type = find_data_type(data_type);
  return type == nullptr ? std::nullopt : type->dtype;
}

// The name, or the number where it has none.
std::string data_type_name(int32_t data_type) {
  const DataType* type = find_data_type(data_type);
  return type == nullptr ? fmt::format("type {}", data_type) : std::string(type->name);
}

// Errors: elements that do not fill the shape, types without an equivalent, data outside of the
// file.
Result<OnnxTensor> parse_tensor(std::span<const std::byte> bytes) {
  OnnxTensor tensor;
  Data data;
  WireReader reader(bytes);
  while (!reader.is_at_end()) {
    QUERN_ASSIGN_OR_RETURN(const WireField field, reader.next());
    QUERN_TRY(read_field(field, tensor, data));
  }
  const auto dtype = dtype_of(tensor.data_type);
  // Known by name and type, without values: an error only where something needs them.
  if (!dtype) return tensor;
  const auto shape = Shape::make(tensor.dims);
  if (!shape) {
    return tl::unexpected(shape.error().with_context(fmt::format("Tensor '{}'", tensor.name)));
  }
  QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(*dtype, *shape));
  const std::vector<std::byte> elements = element_bytes(*dtype, data);
  if (static_cast<uint64_t>(size) != elements.size()) {
    return fail::data_loss("Tensor '{}' of shape {} and {} has {} bytes; {} are there.",
                           tensor.name, shape->to_string(), data_type_name(tensor.data_type), size,
                           elements.size());
  }
  QUERN_ASSIGN_OR_RETURN(tensor.tensor, Tensor::from_bytes(*dtype, *shape, elements));
  return tensor;
}

}  // namespace quern::onnx
