// quern compile and quern explain, process by process.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/model_runner.h"
#include "e2e/program.h"
#include "formats/synth.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

using Arguments = std::vector<std::string>;

// %a and %b are the same sum, once under an alias and once the other way round; %c and %d follow
// each other, so all but the reduction becomes one fused node.
constexpr std::string_view kChain = R"(graph {
  %x = Input() {type = "f32[T, 16]"}
  %y = Input() {type = "f32[T, 16]"}
  %a = Add(%x, %y)
  %b = math.add(%y, %x)
  %c = math.exp(%a)
  %d = math.mul(%c, %b)
  %z = reduction.sum(%d)
  output z = %z
}
)";

class CompileCommand : public testing::Test {
 protected:
  void SetUp() override {
    graph_ = folder_.file("chain.ir");
    std::ofstream(graph_) << kChain;
    model_ = folder_.file("model.gguf");
    ASSERT_TRUE(write_synthetic_model(model_, {.shape = "tiny", .dtype = DType::kQ8_0, .seed = 1}));
  }

  static ProgramResult run(Arguments arguments) {
    ProgramResult result = run_quern(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result;
  }
  static nlohmann::json json(Arguments arguments) {
    arguments.emplace_back("--json");
    return nlohmann::json::parse(run(std::move(arguments)).output, nullptr, false);
  }
  static std::string error(Arguments arguments) {
    const ProgramResult result = run_quern(arguments);
    EXPECT_EQ(result.exit_code, 1) << result.output;
    return result.errors;
  }
  static bool holds(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  TemporaryFolder folder_{"compile_command"};
  std::string graph_;
  std::string model_;
};

TEST_F(CompileCommand, ShowsPassesFusedNodesAndMemory) {
  // Sizes need an extent of T.
  const std::string text = run({"compile", graph_, "--bind", "T=8", "--plan"}).output;
  EXPECT_TRUE(holds(text, "eliminate_common_subexpressions"));
  EXPECT_TRUE(holds(text, "unchanged"));
  EXPECT_TRUE(holds(text, "fused.elementwise"));
  EXPECT_TRUE(holds(text, "math.exp(v0)"));
  EXPECT_TRUE(holds(text, "T = 8"));
  EXPECT_TRUE(holds(text, "arena"));
  EXPECT_TRUE(holds(text, "high water"));
}

TEST_F(CompileCommand, PrintsTheIrAroundAPass) {
  const std::string text =
      run({"compile", graph_, "--print-before", "canonicalise", "--print-after", "canonicalise"})
          .output;
  EXPECT_TRUE(holds(text, "# before canonicalise"));
  EXPECT_TRUE(holds(text, "%a = Add(%x, %y)"));
  EXPECT_TRUE(holds(text, "# after canonicalise"));
  EXPECT_TRUE(holds(text, "%a = math.add(%x, %y)"));
  // Other passes stay silent.
  EXPECT_FALSE(holds(text, "# after simplify"));
  EXPECT_TRUE(holds(run({"compile", graph_, "--print-after", "all"}).output, "# after lower"));
}

TEST_F(CompileCommand, JsonTellsTheSame) {
  const auto report = json({"compile", graph_, "--bind", "T=8", "--print-after", "all", "--ir"});
  ASSERT_TRUE(report.is_object());
  // Two inputs and five operations.
  EXPECT_EQ(report["nodes_before"], 7);
  EXPECT_EQ(report["passes"][0]["name"], "verify");
  EXPECT_TRUE(report["passes"][0]["seconds"].is_number());
  // Checking changes nothing: the alias is still there.
  EXPECT_TRUE(holds(report["passes"][0]["ir_after"].get<std::string>(), "%a = Add(%x, %y)"));
  ASSERT_EQ(report["fused"].size(), 1u);
  // The node keeps the name of its last member.
  EXPECT_EQ(report["fused"][0]["nodes"][0], "d");
  EXPECT_EQ(report["memory"][0]["symbols"]["T"], 8);
  // Only %d passes through the arena: 8 x 16 floats. Inputs and the result live elsewhere.
  EXPECT_EQ(report["memory"][0]["arena_bytes"], 8 * 16 * 4);
  EXPECT_TRUE(holds(report["ir"].get<std::string>(), "fused.elementwise"));
}

TEST_F(CompileCommand, EachPassCanBeSwitchedOff) {
  EXPECT_TRUE(json({"compile", graph_, "--no-pass", "fuse_elementwise"})["fused"].empty());
  const auto alone = json({"compile", graph_, "--passes", "canonicalise,simplify"});
  // Naming some passes leaves the others out.
  for (const auto& pass : alone["passes"]) EXPECT_NE(pass["name"], "fuse_elementwise");
  const auto unplanned =
      json({"compile", graph_, "--no-pass", "plan_memory", "--no-pass", "fuse_elementwise"});
  // Without a plan no two values share memory.
  EXPECT_EQ(unplanned["memory"][0]["arena_bytes"], unplanned["memory"][0]["unplanned_bytes"]);
  // Typing errors are answered, not ignored: a misspelt pass would change a measurement unseen.
  EXPECT_TRUE(holds(error({"compile", graph_, "--no-pass", "verify"}), "cannot be switched off"));
  EXPECT_TRUE(holds(error({"compile", graph_, "--no-pass", "fuse"}), "There is no pass 'fuse'"));
  EXPECT_TRUE(holds(error({"compile", graph_, "--print-after", "fuse"}), "There is no pass"));
}

TEST_F(CompileCommand, OfAModelItPlansDecodeAndPrefill) {
  const auto report = json({"compile", model_, "--tokens", "33"});
  // One decoded token, and the 33 that --tokens asks for.
  ASSERT_EQ(report["memory"].size(), 2u);
  EXPECT_EQ(report["memory"][0]["phase"], "decode");
  EXPECT_EQ(report["memory"][1]["symbols"]["T"], 33);
  // At most half of what the values would take side by side.
  for (const auto& memory : report["memory"]) EXPECT_LE(memory["arena_share"], 0.5);
  std::vector<std::string> ops;
  // The gated feed-forward of each layer, and the quantisation of what it reads.
  for (const auto& fused : report["fused"]) ops.push_back(fused["op"]);
  EXPECT_TRUE(std::ranges::find(ops, "fused.gated_linear") != ops.end());
  EXPECT_TRUE(std::ranges::find(ops, "fused.quantize") != ops.end());
}

// The bound holds for the sizes of a real model, too.
TEST_F(CompileCommand, TheArenaOfSmolLm2IsAtMostHalfOfTheUnplannedSum) {
  const std::string path = smollm2_file();
  QUERN_NEED_FILE(path, "the SmolLM2 file of scripts/fetch_model");
  const auto report = json({"compile", path});
  for (const auto& memory : report["memory"]) EXPECT_LE(memory["arena_share"], 0.5);
  EXPECT_FALSE(report["fused"].empty());
}

TEST_F(CompileCommand, ErrorsNameTheFileAndTheNode) {
  EXPECT_TRUE(holds(error({"compile", folder_.file("nothing")}), "cannot be opened"));
  const std::string bad = folder_.file("bad.ir");
  std::ofstream(bad) << "graph {\n  %x = Input() {type = \"f32[2]\"}\n  %y = math.add(%x)\n}\n";
  // math.add lacks an operand in line 3.
  const std::string text = error({"compile", bad});
  EXPECT_TRUE(holds(text, "bad.ir"));
  EXPECT_TRUE(holds(text, "Line 3"));
  EXPECT_TRUE(holds(error({"compile", graph_, "--place", "z=cuda:0"}),
                    "Node 'z' is placed on 'cuda:0'; the devices of this compilation are cpu."));
  EXPECT_TRUE(holds(error({"compile", graph_, "--place", "z"}), "PATTERN=DEVICE"));
  EXPECT_TRUE(holds(error({"compile", graph_, "--bind", "T=x"}), "T=4"));
}

TEST_F(CompileCommand, OtherBackendsPlanNoMemoryAndFuseNothing) {
  const auto report = json({"compile", graph_, "--device", "reference"});
  EXPECT_TRUE(report["memory"].empty());
  EXPECT_TRUE(report["fused"].empty());
  EXPECT_FALSE(error({"compile", graph_, "--device", "null"}).empty());
}

using ExplainCommand = CompileCommand;

TEST_F(ExplainCommand, SaysWhereWhyAndWhatItCosts) {
  const std::string text = run({"explain", model_, "--tokens", "16"}).output;
  // Names of nodes, of kernels with their types, and of groups over all layers.
  EXPECT_TRUE(holds(text, "blk.0.swiglu"));
  EXPECT_TRUE(holds(text, "q8_0 x int16 product"));
  EXPECT_TRUE(holds(text, "packed for this instruction set"));
  EXPECT_TRUE(holds(text, "decode: "));
  EXPECT_TRUE(holds(text, "prefill: "));
  EXPECT_TRUE(holds(text, "blk.*.swiglu"));
  EXPECT_TRUE(holds(text, "roof: "));
}

TEST_F(ExplainCommand, MeasuresEveryNode) {
  const auto report = json(
      {"explain", model_, "--measure", "--repetitions", "2", "--tokens", "8", "--cached", "4"});
  ASSERT_EQ(report["phases"].size(), 2u);
  for (const auto& phase : report["phases"]) {
    double sum = 0;
    for (const auto& node : phase["nodes"]) {
      EXPECT_GE(node["measured_us"], 0) << node["name"];
      sum += node["measured_us"].get<double>();
    }
    // The phase is the sum of its nodes; 1e-6 is far above the rounding of some hundred additions.
    EXPECT_NEAR(sum, phase["measured_us"].get<double>(), 1e-6 * sum);
    EXPECT_GT(phase["weight_bytes"], 0);
    EXPECT_GT(phase["arena_bytes"], 0);
  }
  // A tenth of a GB/s: any machine has more, and a wrong unit has less.
  EXPECT_GT(report["roof"]["bytes_per_second"], 1e8);
}

TEST_F(ExplainCommand, AGraphIsExplainedAndMeasuredToo) {
  const auto report =
      json({"explain", graph_, "--bind", "T=100", "--measure", "--repetitions", "2"});
  const auto& nodes = report["phases"][0]["nodes"];
  // The fused chain and the reduction; inputs are no work.
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0]["op"], "fused.elementwise");
  // Two inputs of 100 x 16 floats, and no value in between.
  EXPECT_EQ(nodes[0]["read_bytes"], 2 * 100 * 16 * 4);
  EXPECT_EQ(report["phases"][0]["name"], "run");
}

TEST_F(ExplainCommand, ThePageHoldsItsDataAndNeedsNothingElse) {
  const std::string page = folder_.file("page.html");
  run({"explain", model_, "--html", page});
  std::stringstream text;
  text << std::ifstream(page).rdbuf();
  const std::string html = text.str();
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_TRUE(holds(html, "blk.1.swiglu"));
  // Nothing is loaded from elsewhere: the page works without a network.
  EXPECT_FALSE(holds(html, "http://"));
  EXPECT_FALSE(holds(html, "https://"));
  // The data is JSON inside of its own element.
  const std::string_view open = "<script type=\"application/json\" id=\"data\">";
  const size_t start = html.find(open);
  ASSERT_NE(start, std::string::npos);
  const std::string data =
      html.substr(start + open.size(), html.find("</script>", start) - start - open.size());
  EXPECT_TRUE(nlohmann::json::parse(data, nullptr, false).is_object());
}

TEST_F(ExplainCommand, AnUnwritablePageIsAnError) {
  EXPECT_FALSE(error({"explain", graph_, "--html", folder_.file("no/such/folder.html")}).empty());
}

}  // namespace
}  // namespace quern::test
