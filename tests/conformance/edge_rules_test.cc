// What the edge rules of operations say holds: NaN spreads, and no elements give none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/case_pattern.h"
#include "conformance/case_values.h"
#include "conformance/host_values.h"
#include "conformance/one_op.h"

namespace quern {
namespace {

class EdgeRules : public testing::Test {
 protected:
  Result<RunResult> run(const CasePattern& pattern, const std::vector<Tensor>& inputs) {
    QUERN_ASSIGN_OR_RETURN(const Graph graph,
                           one_op_graph(builtin_ops(), pattern.op->id, inputs, pattern.attributes));
    return run_one_op(*backend_, *device_, graph, one_op_arguments(inputs));
  }

  // Calls check(pattern) for every pattern whose operation's edge rule contains the text.
  template <class F>
  // The count is returned, so that a test can tell when the text of rules has changed and matches
  // no more.
  int for_each_pattern(std::string_view rule, F&& check) {
    int count = 0;
    for (const CaseRow& row : case_rows()) {
      const auto patterns = parse_case_row(row, builtin_ops());
      for (const CasePattern& pattern : *patterns) {
        if (pattern.op->edge_rule.find(rule) == std::string::npos) continue;
        SCOPED_TRACE(pattern.op->id + " " + std::string(row.inputs) + " " +
                     std::string(row.attributes));
        check(pattern);
        ++count;
      }
    }
    return count;
  }

  BackendRegistry registry_ = register_backends();
  const Backend* backend_ = *registry_.find("reference");
  std::unique_ptr<Device> device_ = *backend_->open({});
};

bool has_nan(const RunResult& result) {
  for (const auto& [name, tensor] : result.values) {
    if (!is_float(tensor.dtype()) && !is_complex(tensor.dtype())) continue;
    const auto values = *numbers_of(tensor);
    if (std::ranges::any_of(values, [](double v) { return std::isnan(v); })) return true;
  }
  return false;
}

// The tensor with a NaN in its middle.
// The middle: neither the first nor the last element, which kernels treat apart.
Tensor with_nan(const Tensor& tensor) {
  auto values = *numbers_of(tensor);
  values[values.size() / 2] = std::numeric_limits<double>::quiet_NaN();
  return *tensor_of_numbers(tensor.dtype(), tensor.shape(), values);
}

// Each float input alone; ids and masks are not free to be NaN.
TEST_F(EdgeRules, NaNGivesNaNWhereTheRuleSaysSo) {
  const int count = for_each_pattern("NaN gives NaN", [&](const CasePattern& pattern) {
    const SymbolValues& sizes = pattern.sizes[pattern.sizes.size() > 1 ? 1 : 0];
    const auto inputs = *case_inputs(pattern, sizes, DType::kF32, ValueSet::kNormal, 3);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_free = pattern.inputs[i].values == ValueKind::kNumbers &&
                           !inputs[i].is_empty() && is_float(inputs[i].dtype()) &&
                           inputs[i].shape().num_elements() > 0;
      if (!is_free) continue;
      auto spoiled = inputs;
      spoiled[i] = with_nan(inputs[i]);
      const auto result = run(pattern, spoiled);
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_TRUE(has_nan(*result)) << "input " << i;
    }
  });
  EXPECT_GT(count, 60);
}

// All inputs empty. Operations that return a step counter give it all the same.
TEST_F(EdgeRules, NoElementsGiveNoneWhereTheRuleSaysSo) {
  int num_runs = 0;
  for_each_pattern("o elements give none", [&](const CasePattern& pattern) {
    for (const SymbolValues& sizes : pattern.sizes) {
      const auto inputs = *case_inputs(pattern, sizes, DType::kF32, ValueSet::kNormal, 3);
      const bool is_empty = !inputs.empty() && std::ranges::all_of(inputs, [](const Tensor& t) {
        return t.is_empty() || t.shape().num_elements() == 0;
      });
      if (!is_empty) continue;
      const auto result = run(pattern, inputs);
      ASSERT_TRUE(result) << result.error().message;
      for (const auto& [name, tensor] : result->values) {
        if (tensor.shape().rank() == 0) continue;  // a count of steps
        EXPECT_EQ(tensor.shape().num_elements(), 0) << name;
      }
      ++num_runs;
    }
  });
  EXPECT_GT(num_runs, 60);
}

}  // namespace
}  // namespace quern
