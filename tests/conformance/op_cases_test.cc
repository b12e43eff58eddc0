// Reference kernels against the suite op_cases: values from PyTorch, NumPy and SciPy in float64.
// Cases that state a property instead of values have tests of their own, beside the operations.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/npz_reader.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string suite_folder() {
  return std::string(QUERN_SUITES_DIR) + "/op_cases";
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(suite_folder(), error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

AttributeValue attribute_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  const bool are_integers = std::ranges::all_of(value, &json::is_number_integer);
  if (are_integers) return value.get<std::vector<int64_t>>();
  return value.get<std::vector<double>>();
}

Attributes attributes_of(const json& values) {
  Attributes attributes;
  for (const auto& [name, value] : values.items()) attributes.set(name, attribute_of(value));
  return attributes;
}

std::optional<DType> dtype_of(const std::string& descr) {
  static const std::map<std::string, DType> names = {
      {"<f8", DType::kF64}, {"<f4", DType::kF32},        {"<i8", DType::kI64}, {"<i4", DType::kI32},
      {"|i1", DType::kI8},  {"|u1", DType::kU8},         {"<u2", DType::kU16}, {"<u4", DType::kU32},
      {"<u8", DType::kU64}, {"<c16", DType::kComplex128}};
  const auto it = names.find(descr);
  return it == names.end() ? std::nullopt : std::optional(it->second);
}

Tensor tensor_of(const NpyArray& array) {
  const auto dtype = dtype_of(array.dtype);
  const auto shape = Shape::make(array.shape);
  if (!dtype || !shape) return {};
  auto tensor = Tensor::from_bytes(*dtype, *shape, array.bytes);
  return tensor ? std::move(*tensor) : Tensor();
}

// All elements as doubles, complex numbers as pairs.
std::vector<double> numbers_of(const Tensor& tensor) {
  const auto widen = [](const auto& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  switch (tensor.dtype()) {
    case DType::kF64:
      return values_of<double>(tensor);
    case DType::kF32:
      return widen(values_of<float>(tensor));
    case DType::kI64:
      return widen(values_of<int64_t>(tensor));
    case DType::kI32:
      return widen(values_of<int32_t>(tensor));
    case DType::kI8:
      return widen(values_of<int8_t>(tensor));
    case DType::kU8:
      return widen(values_of<uint8_t>(tensor));
    case DType::kU64:
      return widen(values_of<uint64_t>(tensor));
    default: {
      const auto bytes = tensor.host_view();
      std::vector<double> values(bytes ? bytes->size() / sizeof(double) : 0);
      if (!values.empty()) std::memcpy(values.data(), bytes->data(), bytes->size());
      return values;
    }
  }
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

struct Tolerance {
  double absolute = 1e-12;
  double relative = 1e-10;

  bool accepts(double actual, double expected) const {
    if (std::isnan(expected)) return std::isnan(actual);
    if (std::isinf(expected)) return actual == expected;
    return std::abs(actual - expected) <= absolute + relative * std::abs(expected);
  }
};

void expect_values(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                   bool is_padded) {
  const std::vector<double> values = numbers_of(actual), wanted = numbers_of(expected);
  if (!is_padded) {
    EXPECT_EQ(actual.shape().to_string(), expected.shape().to_string());
  }
  ASSERT_GE(values.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_TRUE(tolerance.accepts(values[i], wanted[i]))
        << "element " << i << " is " << values[i] << ", expected " << wanted[i];
  }
}

class OpCases : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::ifstream file(suite_folder() + "/" + GetParam() + ".json");
    case_ = json::parse(file);
    id_ = case_.at("op").get<std::string>();
    ASSERT_NE(builtin_ops().find(id_), nullptr) << id_ << " is not registered";
    if (case_.contains("property")) GTEST_SKIP() << "property: " << case_.at("property");
    auto arrays = read_npz(suite_folder() + "/" + GetParam() + ".npz");
    ASSERT_TRUE(arrays) << arrays.error().message;
    arrays_ = std::move(*arrays);
  }

  Tensor array(const std::string& name) { return tensor_of(arrays_.at(name)); }

  // Optimisers and running metrics: one call for each output of the case; what a call returns as
  // X_out is the input X of the next.
  void check_calls() {
    const OpDef& op = *builtin_ops().find(id_);
    std::map<std::string, Tensor> state;
    int call = 0;
    for (const std::string name : case_.at("outputs")) {
      SCOPED_TRACE(name);
      std::vector<Tensor> inputs;
      for (const PortDef& port : op.inputs) inputs.push_back(input_of_call(port.name, call, state));
      const auto outputs = run_op(id_, inputs, attributes_of(case_.at("attributes")));
      ASSERT_TRUE(outputs) << outputs.error().message;
      expect_values(outputs->front(), array(name), tolerance(), false);
      for (size_t i = 0; i < outputs->size(); ++i) {
        const std::string& port = op.outputs[i].name;
        if (port.ends_with("_out")) state[port.substr(0, port.size() - 4)] = (*outputs)[i];
      }
      ++call;
    }
  }

  Tensor input_of_call(const std::string& port, int call,
                       const std::map<std::string, Tensor>& state) {
    if (const auto it = state.find(port); it != state.end()) return it->second;
    const bool is_sequence = port == "grads" || port == "pre" || port == "post";
    if (arrays_.contains(port)) return is_sequence ? row_of(array(port), call) : array(port);
    const std::string numbered = port + "_" + std::to_string(call + 1);
    return arrays_.contains(numbered) ? array(numbered) : Tensor();
  }

  // Cases name outputs by port, or else list them in the order of the ports.
  size_t output_port(const std::string& name, size_t position) {
    const auto& ports = builtin_ops().find(id_)->outputs;
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].name == name) return i;
    }
    return position;
  }

  Tolerance tolerance() {
    if (!case_.contains("tolerance")) return {};
    return {case_.at("tolerance").at("atol"), case_.at("tolerance").at("rtol")};
  }

  json case_;
  std::string id_;
  NpzArchive arrays_;
};

TEST_P(OpCases, AgreesWithTheOracle) {
  SCOPED_TRACE(case_.at("note").get<std::string>());
  if (id_.starts_with("train.optimizer.") || id_.starts_with("bench.")) return check_calls();
  std::vector<Tensor> inputs;
  for (const auto& name : case_.at("inputs")) inputs.push_back(array(name));
  const auto outputs = run_op(id_, inputs, attributes_of(case_.at("attributes")));
  if (case_.contains("error")) {
    EXPECT_FALSE(outputs) << "must be refused: " << case_.at("error");
    return;
  }
  ASSERT_TRUE(outputs) << outputs.error().message;
  const json& names = case_.at("outputs");
  for (size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(names[i].get<std::string>());
    const Tensor& actual = (*outputs).at(output_port(names[i], i));
    const bool is_padded = id_.starts_with("sampling.");  // kept candidates fill a prefix
    expect_values(actual, array(names[i]), tolerance(), is_padded);
  }
}

INSTANTIATE_TEST_SUITE_P(Suite, OpCases, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OpCases);

TEST(OpCasesSuite, IsPresent) {
  if (case_names().empty()) GTEST_SKIP() << "the suite op_cases is absent";
  EXPECT_EQ(case_names().size(), 722u);
}

}  // namespace
}  // namespace quern::test
