// The operator cases of ONNX (suite onnx_node): each single node whose operator has an equivalent
// is translated, run on the reference and on cpu, and compared within the tolerance of ONNX's own
// runner. What is skipped is printed with its reason and stands in docs/onnx_operators.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "base/fail.h"
#include "formats/onnx/node_context.h"
#include "formats/onnx/onnx_importer.h"
#include "quern/op.h"
#include "support/graph_runner.h"

namespace quern::test {
namespace {

namespace fs = std::filesystem;

// assert_allclose of ONNX's backend test runner: |actual - expected| <= atol + rtol * |expected|.
constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-7;

std::string suite() {
  return std::string(QUERN_SUITES_DIR) + "/onnx_node";
}

// What became of one case: passed, or skipped with a reason, or failed with one.
struct Outcome {
  enum class Kind { kPassed, kSkipped, kFailed };
  Kind kind = Kind::kPassed;
  std::string reason;
};
Outcome skipped(std::string reason) {
  return {Outcome::Kind::kSkipped, std::move(reason)};
}
Outcome failed(std::string reason) {
  return {Outcome::Kind::kFailed, std::move(reason)};
}

// Cases whose expected values hold the rounding noise of an f32 transform where the result is
// 0: 1.9e-7 against an absolute tolerance of 1e-7. They are listed as skipped, and held to 1e-6.
const std::set<std::string> kNoisy = {"test_dft_inverse", "test_dft_inverse_opset19"};
constexpr double kNoise = 1e-6;

// "" where the tensors agree.
// Equal infinities have no difference to compare, so equality comes first.
std::string compare(const Tensor& actual, const Tensor& expected, double absolute) {
  if (actual.dtype() != expected.dtype() || !(actual.shape() == expected.shape())) {
    return fmt::format("gives {}{}, expected {}{}", dtype_name(actual.dtype()),
                       actual.shape().to_string(), dtype_name(expected.dtype()),
                       expected.shape().to_string());
  }
  const auto a = onnx::numbers_of(actual), b = onnx::numbers_of(expected);
  if (!a || !b) return "cannot be compared";
  for (size_t i = 0; i < b->size(); ++i) {
    const double x = (*a)[i], y = (*b)[i];
    const bool is_same = x == y || (std::isnan(x) && std::isnan(y));
    if (is_same || std::abs(x - y) <= absolute + kRelative * std::abs(y)) continue;
    return fmt::format("element {} is {}, expected {}", i, x, y);
  }
  return "";
}

// input_0.pb, input_1.pb, ... of one data set.
Result<std::vector<onnx::OnnxTensor>> read_data(const fs::path& folder, std::string_view kind) {
  std::vector<onnx::OnnxTensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path file = folder / fmt::format("{}_{}.pb", kind, i);
    if (!fs::exists(file)) return tensors;
    QUERN_ASSIGN_OR_RETURN(onnx::OnnxTensor tensor, onnx::read_tensor(file.string()));
    tensors.push_back(std::move(tensor));
  }
}

// Runs one data set on every backend.
Outcome run_data_set(const onnx::OnnxModel& model, const fs::path& folder, double absolute) {
  const auto inputs = read_data(folder, "input"), outputs = read_data(folder, "output");
  if (!inputs) return failed(inputs.error().message);
  if (!outputs) return failed(outputs.error().message);
  onnx::ImportOptions options;
  for (size_t i = 0; i < inputs->size() && i < model.inputs.size(); ++i) {
    // Values of the inputs, for those (shapes, axes) that are attributes of Quern's operations.
    if ((*inputs)[i].tensor) options.known.emplace(model.inputs[i].name, *(*inputs)[i].tensor);
  }
  const auto graph = onnx::import_model(model, builtin_ops(), options);
  if (!graph) {
    const std::string& text = graph.error().message;
    return graph.error().code == ErrorCode::kUnimplemented ? skipped(text) : failed(text);
  }
  std::optional<RunResult> reference;
  for (const char* backend : {"reference", "cpu"}) {
    // Both backends against ONNX, and then against each other, bit for bit.
    auto loaded = load_graph(*graph, {.backend = backend});
    if (!loaded) return failed(fmt::format("{}: {}", backend, loaded.error().message));
    std::map<std::string, Tensor, std::less<>> arguments;
    for (const NodeId id : graph->inputs()) {
      const std::string& name = graph->node(id).name;
      arguments.emplace(name, options.known.at(name));
    }
    auto result = loaded->run(std::move(arguments));
    if (!result) return failed(fmt::format("{}: {}", backend, result.error().message));
    for (size_t i = 0; i < outputs->size(); ++i) {
      if (!(*outputs)[i].tensor) return skipped("An output is of a type that Quern has not.");
      const Tensor* actual = result->find(model.outputs.at(i).name);
      if (actual == nullptr) return failed("An output is missing.");
      const std::string difference = compare(*actual, *(*outputs)[i].tensor, absolute);
      if (!difference.empty())
        return failed(fmt::format("{}: output {} {}", backend, i, difference));
    }
    if (reference && !same_result_bits(*result, *reference))
      return failed("cpu has other bits than reference.");
    reference = std::move(*result);
  }
  return {};
}

Outcome run_case(const fs::path& folder) {
  const auto model = onnx::read_model((folder / "model.onnx").string());
  if (!model)
    return model.error().code == ErrorCode::kUnimplemented ? skipped(model.error().message)
                                                           : failed(model.error().message);
  if (model->nodes.size() != 1) return skipped("The model has several nodes.");
  const onnx::OnnxNode& node = model->nodes[0];
  if (onnx::find_mapper(node.domain, node.op_type) == nullptr) {
    return skipped(onnx::why_without_equivalent(node.op_type));
  }
  for (const auto* values : {&model->inputs, &model->outputs}) {
    for (const onnx::OnnxValue& value : *values) {
      if (value.data_type == 0) return skipped("a sequence or an optional value");
    }
  }
  const bool is_noisy = kNoisy.contains(folder.filename().string());
  for (int set = 0;; ++set) {
    const fs::path data = folder / fmt::format("test_data_set_{}", set);
    if (!fs::exists(data)) break;
    Outcome outcome = run_data_set(*model, data, is_noisy ? kNoise : kAbsolute);
    if (outcome.kind != Outcome::Kind::kPassed) return outcome;
  }
  if (!fs::exists(folder / "test_data_set_0")) return failed("There is no data.");
  return is_noisy ? skipped("The expected values hold noise above the tolerance.") : Outcome{};
}

struct OperatorReport {
  int passed = 0;
  std::map<std::string, std::vector<std::string>> skipped;  // cases by reason
};

// The reason without the node in front, and the same words for all that lack one dtype.
// Reasons that differ in a node's name only are one line of the page.
std::string short_reason(std::string text) {
  const size_t end = text.starts_with("Node '") ? text.find("): ") : std::string::npos;
  if (end != std::string::npos) text = text.substr(end + 3);
  static const std::regex kInput("^(?:Input|Initializer) '.*' is (.*), which Quern has not\\.$");
  static const std::regex kCast("^There is no cast to (.*)\\.$");
  std::smatch match;
  if (std::regex_match(text, match, kInput) || std::regex_match(text, match, kCast)) {
    return match[1] == "no tensor" ? "a sequence or an optional value"
                                   : "no dtype for " + match[1].str();
  }
  return text;
}

// What docs/onnx_operators.md holds.
std::string table(const std::map<std::string, OperatorReport>& reports) {
  std::string text =
      "# ONNX operators\n\nWhich single nodes of ONNX's own operator tests (opset 1 to 26) are "
      "translated to Quern's operations\n"
      "(`src/formats/onnx`) and give the expected values on `reference` and `cpu`. A test writes "
      "this page.\n\n"
      "| operator | cases that match | cases that are skipped, and why |\n|---|---|---|\n";
  int num_operators = 0, num_passed = 0;
  for (const auto& [name, report] : reports) {
    num_operators += report.passed > 0 ? 1 : 0;
    num_passed += report.passed;
    std::string reasons;
    for (const auto& [reason, cases] : report.skipped) {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", cases.size(), reason);
    }
    text += fmt::format("| {} | {} | {} |\n", name, report.passed, reasons);
  }
  return text +
         fmt::format("\n{} operators, {} cases. Models of several nodes are not part of this.\n",
                     num_operators, num_passed);
}

TEST(OnnxNode, EveryCaseWithAnEquivalentMatches) {
  if (!fs::exists(suite())) GTEST_SKIP() << "Skipped: the suite onnx_node is absent.";
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(suite() + "/node"))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  std::map<std::string, OperatorReport> reports;
  int num_passed = 0, num_failed = 0, num_several = 0;
  for (const fs::path& folder : folders) {
    const Outcome outcome = run_case(folder);
    if (outcome.reason == "The model has several nodes.") {
      ++num_several;
      continue;
    }
    const auto model = onnx::read_model((folder / "model.onnx").string());
    OperatorReport& report = reports[model && !model->nodes.empty() ? model->nodes[0].op_type
                                                                    : folder.filename().string()];
    if (outcome.kind == Outcome::Kind::kPassed) {
      ++num_passed;
      ++report.passed;
    } else if (outcome.kind == Outcome::Kind::kSkipped) {
      report.skipped[short_reason(outcome.reason)].push_back(folder.filename().string());
    } else {
      ++num_failed;
      ADD_FAILURE() << folder.filename().string() << ": " << outcome.reason;
    }
  }
  int num_operators = 0;
  for (const auto& [name, report] : reports) {
    num_operators += report.passed > 0 ? 1 : 0;
    for (const auto& [reason, cases] : report.skipped) {
      fmt::print("skipped {}: {} ({} cases, such as {})\n", name, reason, cases.size(), cases[0]);
    }
  }
  fmt::print("{} operators, {} cases match, {} fail; {} models of several nodes are not tried\n",
             num_operators, num_passed, num_failed, num_several);
  EXPECT_GE(num_operators, 100);
  // The count of the suite: a folder that went missing would otherwise pass in silence.
  EXPECT_EQ(folders.size(), 1765U);
  // The page is written beside the test where it differs, so that a person can look at it and copy
  // it.
  const std::string path = std::string(QUERN_TEST_DATA_DIR) + "/../../docs/onnx_operators.md";
  std::ifstream stream(path);
  const std::string written{std::istreambuf_iterator<char>(stream), {}};
  const std::string current = table(reports);
  if (written == current) return;
  std::ofstream("onnx_operators.md") << current;
  ADD_FAILURE() << "docs/onnx_operators.md is not current; the page is in "
                << fs::current_path() / "onnx_operators.md";
}

}  // namespace
}  // namespace quern::test
