// Passes as text: each file PASS/CASE.ir holds a graph, a line "---", and the graph that the pass
// makes of it ("unchanged", or "error: " and a part of the message). Lines "#! key: value" before
// the graph set options: numerics, readable, fusions (cpu or none), place ("pattern = target"),
// target (a backend). The pass may not change a bit: both graphs run on the reference backend with
// inputs that hold zeros of both signs, denormals, infinities and NaN.
// With --update the program writes what the passes give into the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "passes/pipeline.h"
#include "quern/op.h"
#include "support/graph_runner.h"
#include "support/random_inputs.h"

namespace quern::test {
namespace {

namespace fs = std::filesystem;

bool should_update = false;

// One file.
struct Case {
  std::string pass;
  std::string head;  // comments and options
  std::string input = {};
  std::string expected = {};
};

std::string read_file(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Case read_case(const fs::path& path) {
  const std::string text = read_file(path);
  // A file may begin with the graph, or with comments and options before it.
  const size_t start = text.starts_with("graph") ? 0 : text.find("\ngraph") + 1;
  const size_t rule = text.find("\n---\n");
  Case made{.pass = path.parent_path().filename(), .head = text.substr(0, start)};
  made.input = text.substr(start, rule == std::string::npos ? rule : rule + 1 - start);
  if (rule != std::string::npos) made.expected = text.substr(rule + 5);
  return made;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  const size_t last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// Values of "#! key: value" lines.
std::vector<std::string> options_named(const Case& c, const std::string& key) {
  std::vector<std::string> values;
  std::stringstream lines(c.head);
  for (std::string line; std::getline(lines, line);) {
    const std::string prefix = "#! " + key + ":";
    if (line.starts_with(prefix)) values.push_back(trimmed(line.substr(prefix.size())));
  }
  return values;
}

// Backends stay alive for the targets of options.
struct CaseSetup {
  BackendRegistry backends = register_backends();
  std::vector<std::unique_ptr<Capabilities>> capabilities;
  PassOptions options;

  explicit CaseSetup(const Case& c) {
    for (const std::string& name : options_named(c, "readable")) options.readable.push_back(name);
    for (const std::string& name : options_named(c, "numerics")) {
      options.numerics = *find_numerics(name);
    }
    for (const std::string& name : options_named(c, "fusions")) {
      options.fusions = (*backends.find(name))->fusions();
    }
    for (const std::string& name : options_named(c, "target")) add_target(name);
    for (const std::string& rule : options_named(c, "place")) {
      const size_t equals = rule.find('=');
      options.placement.emplace_back(trimmed(rule.substr(0, equals)),
                                     // "pattern = target".
                                     trimmed(rule.substr(equals + 1)));
    }
  }

  // "cpu", or "cpu without f64".
  void add_target(const std::string& text) {
    const std::string name = text.substr(0, text.find(' '));
    const Backend* backend = *backends.find(name);
    auto made = std::make_unique<Capabilities>(*backend->default_caps(""));
    if (text.ends_with("without f64")) made->has_f64 = false;
    options.targets.push_back({name, backend, made.get()});
    capabilities.push_back(std::move(made));
  }
};

const Pass* find_pass(const std::string& name) {
  const auto passes = default_pipeline();
  const auto found = std::ranges::find(passes, name, &Pass::name);
  return found == passes.end() ? nullptr : &*found;
}

// Both graphs with equal inputs: equal bits, or an error of the same code.
void expect_same_bits(const Graph& before, const Graph& after) {
  // One seed for every case: a failure can be run again.
  std::mt19937 random(17);
  const GraphInputs inputs = random_inputs(before, random);
  const auto run = [&](const Graph& graph) -> Result<RunResult> {
    auto loaded = load_graph(graph, {.backend = "reference"}, &inputs.weights);
    if (!loaded) return tl::unexpected(loaded.error());
    return loaded->run(inputs.tensors);
  };
  const auto expected = run(before);
  const auto actual = run(after);
  // A pass may neither make nor hide an error of the values.
  ASSERT_EQ(actual.has_value(), expected.has_value())
      << (expected ? actual.error().message : expected.error().message);
  if (!expected) {
    EXPECT_EQ(actual.error().code, expected.error().code)
        << actual.error().message << " / " << expected.error().message;
    return;
  }
  EXPECT_TRUE(same_result_bits(*actual, *expected));
}

// What stands under the rule for this outcome.
std::string outcome_text(const Graph& before, const Result<Graph>& after) {
  if (!after) return "error: " + after.error().message + "\n";
  const std::string text = print_graph(*after);
  return text == print_graph(before) ? "unchanged\n" : text;
}

class PassText : public testing::TestWithParam<std::string> {};

TEST_P(PassText, GivesTheGraphOfTheFile) {
  const fs::path path = GetParam();
  const Case c = read_case(path);
  const Pass* pass = find_pass(c.pass);
  ASSERT_NE(pass, nullptr) << "There is no pass " << c.pass;
  const auto graph = parse_graph(c.input, builtin_ops());
  ASSERT_TRUE(graph) << graph.error().message;
  const CaseSetup setup(c);
  const Result<Graph> after = pass->run(*graph, setup.options);
  const std::string outcome = outcome_text(*graph, after);
  // The input is printed anew as well, so that files share one form.
  if (should_update) {
    std::ofstream(path) << c.head << print_graph(*graph) << "---\n" << outcome;
    return;
  }
  if (c.expected.starts_with("error: ")) {
    ASSERT_FALSE(after.has_value());
    // Without the line's end; a part of the message is enough.
    EXPECT_NE(outcome.find(trimmed(c.expected.substr(0, c.expected.size() - 1))), std::string::npos)
        << outcome;
    return;
  }
  EXPECT_EQ(outcome, c.expected);
  ASSERT_TRUE(after.has_value());
  EXPECT_TRUE(verify(*after).has_value());
  // Fast numerics allow other bits, which is what some cases show.
  if (setup.options.numerics != Numerics::kFast) expect_same_bits(*graph, *after);
}

std::vector<std::string> case_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(QUERN_PASS_CASES_DIR)) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// "simplify_adding_negative_zero"
std::string case_name(const testing::TestParamInfo<std::string>& info) {
  const fs::path path = info.param;
  return path.parent_path().filename().string() + "_" + path.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Files, PassText, testing::ValuesIn(case_files()), case_name);

}  // namespace
}  // namespace quern::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  quern::test::should_update = argc > 1 && std::string_view(argv[1]) == "--update";
  return RUN_ALL_TESTS();
}
