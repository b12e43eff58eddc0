// Every case of the suite op_cases on the backends `reference` and `cpu`: in float64 within the
// case's bound, in float32 within the operation's, refused where it must be. Cases that state a
// property instead of values are in op_properties_test.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/exact_results.h"
#include "conformance/op_check.h"
#include "support/op_case.h"

namespace quern::test {
namespace {

class OpCases : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto loaded = load_op_case(GetParam());
    ASSERT_TRUE(loaded) << loaded.error().message;
    case_ = std::move(*loaded);
    if (!case_.property.empty()) GTEST_SKIP() << "see op_properties_test: " << case_.property;
  }

  // Calls check(inputs, index of the first output or -1 for all, state to update) once, or for each
  // call of a sequence.
  // The state of a call (the optimiser's moments, say) is what the call before it returned.
  template <class F>
  void for_each_call(F&& check) {
    if (!case_.is_sequence()) {
      std::map<std::string, Tensor> unused;
      return check(case_.port_inputs(), -1, unused);
    }
    std::map<std::string, Tensor> state;
    for (int call = 0; call < static_cast<int>(case_.outputs.size()); ++call) {
      SCOPED_TRACE(case_.outputs[static_cast<size_t>(call)]);
      check(case_.inputs_of_call(call, state), call, state);
      if (HasFatalFailure()) return;
    }
  }

  // Bounds come with the case: they are those of the oracle's own arithmetic.
  void check_f64(const OpRunner& runner) {
    for_each_call(
        [&](const std::vector<Tensor>& inputs, int call, std::map<std::string, Tensor>& state) {
          const auto outputs = runner.run(*case_.op, inputs, case_.attributes);
          if (case_.must_fail) {
            EXPECT_FALSE(outputs) << "must be refused";
            return;
          }
          ASSERT_TRUE(outputs) << outputs.error().message;
          expect_oracle(*outputs, call, {case_.absolute, case_.relative, case_.checks_zeros});
          state = state_of(*case_.op, *outputs);
        });
  }

  // What a call returns as X_out is the input X of the next; sampling pads what it kept.
  void expect_oracle(const std::vector<Tensor>& outputs, int call, const Tolerance& tolerance) {
    if (call >= 0) {
      const auto& name = case_.outputs[static_cast<size_t>(call)];
      return expect_values(outputs.front(), case_.array(name), tolerance);
    }
    for (size_t i = 0; i < case_.outputs.size(); ++i) {
      SCOPED_TRACE(case_.outputs[i]);
      expect_values(outputs.at(case_.output_port(i)), case_.array(case_.outputs[i]), tolerance,
                    case_.op->id.starts_with("sampling."));
    }
  }

  // Against the same operation in f64 on the rounded inputs, which check_f64 compares with the
  // oracle. Draws are compared with the oracle itself.
  // Two steps: f64 against the oracle, then f32 against f64. The bound of f32 then measures
  // rounding alone, and not what rounding the inputs does.
  void check_f32(const OpRunner& runner) {
    for_each_call(
        [&](const std::vector<Tensor>& wide, int call, std::map<std::string, Tensor>& state) {
          const std::vector<Tensor> inputs = in_f32(wide);
          const auto outputs = runner.run(*case_.op, inputs, case_.attributes);
          if (case_.must_fail) {
            EXPECT_FALSE(outputs) << "must be refused in f32 too";
            return;
          }
          ASSERT_TRUE(outputs) << outputs.error().message;
          if (has_exact_results(*case_.op)) {
            expect_within_bound(*case_.op, case_.attributes, inputs, *outputs);
          } else {
            // Draws pick the same numbers or other ones: any tolerance separates them.
            expect_oracle(*outputs, call, {1e-6, 1e-5});
          }
          state = state_of(*case_.op, *outputs);
        });
  }

  OpCase case_;
};

TEST_P(OpCases, AgreesWithTheOracleInF64) {
  SCOPED_TRACE(case_.note);
  for (const char* name : {"reference", "cpu"}) {
    SCOPED_TRACE(name);
    check_f64(OpRunner(name));
  }
}

TEST_P(OpCases, StaysWithinItsBoundInF32) {
  SCOPED_TRACE(case_.note);
  for (const char* name : {"reference", "cpu"}) {
    SCOPED_TRACE(name);
    check_f32(OpRunner(name));
  }
}

INSTANTIATE_TEST_SUITE_P(Suite, OpCases, testing::ValuesIn(op_case_names()),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OpCases);

// 722 cases: a suite that was copied in part must not pass.
TEST(OpCasesSuite, IsPresent) {
  if (op_case_names().empty()) GTEST_SKIP() << "the suite op_cases is absent";
  EXPECT_EQ(op_case_names().size(), 722u);
}

// Inputs of cases are named as the ports of their form, so that `quern op` takes the names.
TEST(OpCasesSuite, NamesInputsAsPorts) {
  for (const std::string& name : op_case_names()) {
    const auto loaded = load_op_case(name);
    ASSERT_TRUE(loaded) << loaded.error().message;
    if (loaded->is_sequence()) continue;
    const auto ports = loaded->op->input_ports(loaded->attributes);
    if (ports.size() == 1 && ports[0].is_variadic) continue;
    for (const std::string& input : loaded->inputs) {
      const bool is_port = std::ranges::find(ports, input, &PortDef::name) != ports.end();
      EXPECT_TRUE(is_port) << name << " " << input;
    }
  }
}

}  // namespace
}  // namespace quern::test
