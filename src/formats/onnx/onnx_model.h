// ONNX files as plain structs: models, graphs, nodes, tensors (onnx.proto of ONNX IR 3 to 13).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/tensor.h"

namespace quern::onnx {

// A tensor of the file. Types that Quern has no dtype for (strings, 2 to 6 bits, fnuz floats) have
// no tensor.
struct OnnxTensor {
  // Empty for tensors in attributes.
  std::string name;
  int32_t data_type = 0;  // TensorProto.DataType
  std::vector<int64_t> dims;
  std::optional<Tensor> tensor;  // bools are u8
};

// Exactly one of the values is set, as `type` says.
struct OnnxAttribute {
  // Which member counts.
  enum class Type : uint8_t { kNone, kFloat, kInt, kText, kTensor, kFloats, kInts, kTexts, kOther };
  std::string name;
  Type type = Type::kNone;
  float number = 0;
  int64_t integer = 0;
  std::string text;
  OnnxTensor tensor;
  std::vector<float> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
};

// A node; inputs and outputs are names, and the empty name is an absent one.
struct OnnxNode {
  std::string name;
  std::string op_type;
  std::string domain;               // "" is ai.onnx
  std::vector<std::string> inputs;  // an empty name is an absent optional input
  std::vector<std::string> outputs;
  std::vector<OnnxAttribute> attributes;

  // Null where there is none.
  const OnnxAttribute* find(std::string_view name) const;
};

// An input or output of a graph.
struct OnnxValue {
  // Of the graph.
  std::string name;
  int32_t data_type = 0;  // 0: not a tensor, or not said
  // -1 for an extent that the file does not say.
  std::optional<std::vector<int64_t>> dims;
};

// A model whose weights are in the file itself.
struct OnnxModel {
  int64_t ir_version = 0;
  std::map<std::string, int64_t, std::less<>> opsets;  // version by domain
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValue> inputs;
  std::vector<OnnxValue> outputs;

  // 0 for a domain that the model does not import.
  int64_t opset(std::string_view domain) const;
};

// The dtype of a TensorProto.DataType; bools are u8. Nothing for types that Quern has not.
std::optional<DType> dtype_of(int32_t data_type);
// "FLOAT", "STRING", ...; "type 99" for unknown numbers.
std::string data_type_name(int32_t data_type);

// Parses a ModelProto or a TensorProto. Sizes are checked before memory is taken; data is copied.
// Errors: kDataLoss (truncated, too little data for a shape), kInvalidArgument (malformed),
// kUnimplemented (data in other files).
Result<OnnxModel> parse_model(std::span<const std::byte> bytes);
// Errors: kInvalidArgument, naming the tensor where it has a name.
Result<OnnxTensor> parse_tensor(std::span<const std::byte> bytes);
// The same from files; errors name the path.
Result<OnnxModel> read_model(const std::string& path);
Result<OnnxTensor> read_tensor(const std::string& path);

}  // namespace quern::onnx
