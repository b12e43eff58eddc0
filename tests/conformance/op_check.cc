// Runs and comparisons.
#include "conformance/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "conformance/error_units.h"
#include "conformance/exact_results.h"
#include "conformance/host_values.h"
#include "conformance/one_op.h"

namespace quern::test {
namespace {

const BackendRegistry& registry() {
  static const BackendRegistry backends = register_backends();
  return backends;
}

std::vector<double> numbers(const Tensor& tensor) {
  auto values = numbers_of(tensor);
  EXPECT_TRUE(values);
  return values ? std::move(*values) : std::vector<double>();
}

}  // namespace

OpRunner::OpRunner(std::string_view backend)
    : backend_(*registry().find(backend)),
      device_(*backend_->open({.num_threads = 2, .isa = ""})) {}

Result<std::vector<Tensor>> OpRunner::run(const OpDef& op, const std::vector<Tensor>& inputs,
                                          const Attributes& attributes) const {
  QUERN_ASSIGN_OR_RETURN(const Graph graph, one_op_graph(builtin_ops(), op.id, inputs, attributes));
  QUERN_ASSIGN_OR_RETURN(RunResult result,
                         run_one_op(*backend_, *device_, graph, one_op_arguments(inputs)));
  std::vector<Tensor> outputs;
  for (auto& [name, tensor] : result.values) outputs.push_back(std::move(tensor));
  return outputs;
}

// NaN where NaN is expected, infinities exactly; a finite number near an infinity is none.
bool Tolerance::accepts(double actual, double expected) const {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  if (checks_zeros && expected == 0 && actual == 0) {
    return std::signbit(actual) == std::signbit(expected);
  }
  return std::abs(actual - expected) <= absolute + relative * std::abs(expected);
}

// `is_padded`: sampling pads its lists; only the part that is expected counts.
void expect_values(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                   bool is_padded) {
  const std::vector<double> values = numbers(actual), wanted = numbers(expected);
  if (!is_padded) {
    EXPECT_EQ(actual.shape().to_string(), expected.shape().to_string());
  }
  ASSERT_GE(values.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_TRUE(tolerance.accepts(values[i], wanted[i]))
        << "element " << i << " is " << values[i] << ", expected " << wanted[i];
  }
}

std::vector<Tensor> in_f32(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> narrow;
  for (const Tensor& tensor : tensors) {
    auto converted = in_precision(tensor, DType::kF32);
    EXPECT_TRUE(converted);
    narrow.push_back(converted ? *converted : Tensor());
  }
  return narrow;
}

void expect_within_bound(const OpDef& op, const Attributes& attributes,
                         const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  const OpRunner reference("reference");
  ExactReference exact{reference.backend(), reference.device()};
  CasePattern pattern;
  pattern.op = &op;
  pattern.attributes = attributes;
  // The same operation in f64 on the inputs as f32 rounded them.
  const auto results = exact.run(pattern, inputs, 1);
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_FALSE(results->empty()) << op.id << " has no result in f64";
  for (size_t i = 0; i < results->size(); ++i) {
    const Tensor& tensor = outputs.at(i);
    if (!is_float(tensor.dtype()) && !is_complex(tensor.dtype())) continue;
    const WorstError worst =
        measure_error(DType::kF32, numbers(tensor), (*results)[i].values, (*results)[i].changes);
    EXPECT_LE(worst.units, op.f32_bound) << op.id << " output " << i << " element " << worst.element
                                         << " is " << worst.actual << ", exact " << worst.exact;
  }
}

}  // namespace quern::test
