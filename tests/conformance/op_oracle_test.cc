// Operations against tests/data/ops/oracle.json: values from PyTorch, NumPy and SciPy, in f64 on
// the backends `reference` and `cpu`, and in f32 within each operation's bound.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "conformance/exact_results.h"
#include "conformance/host_values.h"
#include "conformance/op_check.h"

namespace quern::test {
namespace {

using nlohmann::json;

const json& oracle() {
  static const json cases = [] {
    std::ifstream file(std::string(QUERN_TEST_DATA_DIR) + "/ops/oracle.json");
    return json::parse(file);
  }();
  return cases;
}

// JSON has no infinities: they are texts.
double number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "inf" ? infinity : -infinity;
}

// Null is an absent input. 64-bit integers do not pass through f64.
Tensor tensor_of(const json& array) {
  if (array.is_null()) return {};
  const DType dtype = *find_dtype(array.at("dtype").get<std::string>());
  const Shape shape = *Shape::make(array.at("shape").get<std::vector<int64_t>>());
  const json& values = array.at("values");
  // Numbers above 2^53 would lose their last bits.
  if (dtype == DType::kU64) {
    return *Tensor::from<uint64_t>(dtype, shape, values.get<std::vector<uint64_t>>());
  }
  std::vector<double> numbers;
  for (const json& value : values) numbers.push_back(number_of(value));
  return *tensor_of_numbers(dtype, shape, numbers);
}

AttributeValue attribute_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return value.get<std::vector<int64_t>>();
}

class OpOracle : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    case_ = oracle().at(GetParam());
    op_ = builtin_ops().find(case_.at("op").get<std::string>());
    ASSERT_NE(op_, nullptr) << case_.at("op");
    for (const auto& [name, value] : case_.at("attributes").items()) {
      attributes_.set(name, attribute_of(value));
    }
    for (const json& input : case_.at("inputs")) inputs_.push_back(tensor_of(input));
  }

  json case_;
  const OpDef* op_ = nullptr;
  Attributes attributes_;
  std::vector<Tensor> inputs_;
};

TEST_P(OpOracle, AgreesInF64) {
  SCOPED_TRACE(case_.at("op").get<std::string>() + " from " +
               case_.at("source").get<std::string>());
  for (const char* name : {"reference", "cpu"}) {
    SCOPED_TRACE(name);
    const auto outputs = OpRunner(name).run(*op_, inputs_, attributes_);
    ASSERT_TRUE(outputs) << outputs.error().message;
    for (size_t i = 0; i < case_.at("outputs").size(); ++i) {
      const Tensor expected = tensor_of(case_.at("outputs")[i]);
      if (expected.is_empty()) continue;
      const double rtol = case_.at("rtol");
      // The absolute part covers results near 0, whose relative error means nothing.
      expect_values(outputs->at(i), expected, {rtol / 10, rtol});
    }
  }
}

TEST_P(OpOracle, StaysWithinItsBoundInF32) {
  SCOPED_TRACE(case_.at("op").get<std::string>());
  if (!has_exact_results(*op_)) GTEST_SKIP() << "f64 draws other numbers";
  const std::vector<Tensor> inputs = in_f32(inputs_);
  for (const char* name : {"reference", "cpu"}) {
    SCOPED_TRACE(name);
    const auto outputs = OpRunner(name).run(*op_, inputs, attributes_);
    ASSERT_TRUE(outputs) << outputs.error().message;
    expect_within_bound(*op_, attributes_, inputs, *outputs);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OpOracle, testing::Range(size_t{0}, oracle().size()),
                         [](const auto& info) {
                           std::string name = oracle().at(info.param).at("op");
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name + "_" + std::to_string(info.param);
                         });

// Operations without a case here, and where their values come from instead.
// Each operation is in exactly one of the two sets: a new one without oracle values fails here.
TEST(OpOracleFile, CoversTheOperations) {
  const std::set<std::string> elsewhere = {
      "Input",
      "graph.weight",    // bind values
      "graph.copy",      // moves between devices
      "graph.constant",  // graph_ops_test: conversions of strict_golden
      "kv.append",
      "attention.cached",  // tests/data/ops/attention.npz
      "kv.keep_unrotated",
      "kv.read_unrotated",
      "kv.write_keys",       // moves of rows
      "positional.rope_at",  // tests/data/ops/rope.npz
      "random.uniform",
      "random.normal",
      "random.integers",  // random_ops_test: random123
      "hawkes.simulate",  // op_properties_test: mean of the process
  };
  std::set<std::string> covered;
  for (const json& c : oracle()) covered.insert(c.at("op").get<std::string>());
  for (const OpDef* op : builtin_ops().list()) {
    if (!op->alias_of.empty()) continue;
    EXPECT_NE(covered.contains(op->id), elsewhere.contains(op->id)) << op->id;
  }
}

}  // namespace
}  // namespace quern::test
