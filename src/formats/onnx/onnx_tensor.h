// Element types of ONNX tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "quern/dtype.h"

namespace quern::onnx {

// TensorProto.DataType: how its elements lie in raw data and in the typed fields.
struct DataType {
  // A type of ONNX.
  int32_t number;
  std::string_view name;
  std::optional<DType> dtype;  // absent: no tensor of Quern
};
// Null for a number that onnx.proto does not have.
const DataType* find_data_type(int32_t number);

}  // namespace quern::onnx
