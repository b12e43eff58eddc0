// Reads cases: JSON beside an archive of arrays.
#include "support/op_case.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fail.h"
#include "support/npz_reader.h"

namespace quern::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string suite_folder() {
  return std::string(QUERN_SUITES_DIR) + "/op_cases";
}

// JSON's own types decide: 1 is an integer, 1.0 a number, [1, 2.5] numbers.
AttributeValue attribute_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  // An empty list counts as integers.
  const bool are_integers = std::ranges::all_of(value, &json::is_number_integer);
  if (are_integers) return value.get<std::vector<int64_t>>();
  return value.get<std::vector<double>>();
}

std::optional<DType> dtype_of(const std::string& descr) {
  static const std::map<std::string, DType> names = {
      {"<f8", DType::kF64}, {"<f4", DType::kF32},        {"<i8", DType::kI64}, {"<i4", DType::kI32},
      {"|i1", DType::kI8},  {"|u1", DType::kU8},         {"<u2", DType::kU16}, {"<u4", DType::kU32},
      {"<u8", DType::kU64}, {"<c16", DType::kComplex128}};
  const auto it = names.find(descr);
  return it == names.end() ? std::nullopt : std::optional(it->second);
}

Result<Tensor> tensor_of(const std::string& name, const NpyArray& array) {
  const auto dtype = dtype_of(array.dtype);
  if (!dtype) return fail::invalid("Array '{}' has elements '{}'.", name, array.dtype);
  QUERN_ASSIGN_OR_RETURN(const Shape shape, Shape::make(array.shape));
  return Tensor::from_bytes(*dtype, shape, array.bytes);
}

// Row `index` of the first axis.
Tensor row_of(const Tensor& tensor, int index) {
  const auto dims = tensor.shape().dims();
  const auto shape = Shape::make(dims.subspan(1));
  const auto bytes = tensor.host_view();
  if (!shape || !bytes || index >= dims[0]) return {};
  const size_t size = bytes->size() / static_cast<size_t>(dims[0]);
  auto row = Tensor::from_bytes(tensor.dtype(), *shape,
                                bytes->subspan(static_cast<size_t>(index) * size, size));
  return row ? std::move(*row) : Tensor();
}

// Most cases hold for both zeros; only notes that speak of signs are checked for them.
bool mentions_zeros(const std::string& note) {
  for (const char* word : {"signed zero", "= -0", "-0 ", "-0)", "sign bits"}) {
    if (note.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

// The operations that carry a state from call to call.
bool OpCase::is_sequence() const {
  return op->id.starts_with("train.optimizer.") || op->id.starts_with("bench.");
}

std::vector<Tensor> OpCase::inputs_of_call(int index,
                                           const std::map<std::string, Tensor>& state) const {
  std::vector<Tensor> tensors;
  for (const PortDef& port : op->inputs) {
    // Inputs of metrics are numbered by call, unless there is one call.
    const std::string numbered = port.name + "_" + std::to_string(index + 1);
    // One row of the array for each call.
    const bool is_stacked = port.name == "grads" || port.name == "pre" || port.name == "post";
    if (const auto it = state.find(port.name); it != state.end()) {
      tensors.push_back(it->second);
    } else if (std::ranges::find(inputs, numbered) != inputs.end()) {
      tensors.push_back(array(numbered));
    } else if (arrays.contains(port.name)) {
      tensors.push_back(is_stacked ? row_of(array(port.name), index) : array(port.name));
    } else {
      tensors.emplace_back();
    }
  }
  return tensors;
}

std::vector<Tensor> OpCase::port_inputs() const {
  std::vector<Tensor> tensors;
  for (const std::string& input : inputs) tensors.push_back(array(input));
  return tensors;
}

// Cases name a part of the outputs, mostly the first.
size_t OpCase::output_port(size_t index) const {
  for (size_t i = 0; i < op->outputs.size(); ++i) {
    if (op->outputs[i].name == outputs[index]) return i;
  }
  return index;
}

std::vector<std::string> op_case_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(suite_folder(), error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

Result<OpCase> load_op_case(const std::string& name) {
  std::ifstream file(suite_folder() + "/" + name + ".json");
  const json text = json::parse(file, nullptr, false);
  if (text.is_discarded()) return fail::data_loss("Case '{}' is no JSON.", name);
  OpCase made;
  made.name = name;
  const auto id = text.at("op").get<std::string>();
  made.op = builtin_ops().find(id);
  if (made.op == nullptr) return fail::not_found("There is no operation '{}'.", id);
  for (const auto& [key, value] : text.at("attributes").items()) {
    made.attributes.set(key, attribute_of(value));
  }
  made.inputs = text.at("inputs").get<std::vector<std::string>>();
  made.outputs = text.at("outputs").get<std::vector<std::string>>();
  made.note = text.at("note").get<std::string>();
  made.property = text.value("property", "");
  made.must_fail = text.contains("error");
  made.checks_zeros = mentions_zeros(made.note);
  if (text.contains("tolerance")) {
    made.absolute = text.at("tolerance").at("atol");
    made.relative = text.at("tolerance").at("rtol");
  }
  QUERN_ASSIGN_OR_RETURN(const NpzArchive arrays, read_npz(suite_folder() + "/" + name + ".npz"));
  for (const auto& [key, array] : arrays) {
    QUERN_ASSIGN_OR_RETURN(made.arrays[key], tensor_of(key, array));
  }
  return made;
}

// "m_out" of one call is the input "m" of the next.
std::map<std::string, Tensor> state_of(const OpDef& op, const std::vector<Tensor>& outputs) {
  std::map<std::string, Tensor> state;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& port = op.outputs[i].name;
    if (port.ends_with("_out")) state[port.substr(0, port.size() - 4)] = outputs[i];
  }
  return state;
}

}  // namespace quern::test
