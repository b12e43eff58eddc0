// Reports of explain and compile: JSON for programs, tables for people, a page for browsers.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/compile_report.h"
#include "cli/explain_report.h"
#include "quern/op.h"

namespace quern::cli {
namespace {

// Powers of 1,024.
TEST(BytesText, HasOneDecimalAndAUnit) {
  const std::pair<double, const char*> cases[] = {{0, "0 B"},
                                                  {1, "1 B"},
                                                  {1023, "1023 B"},
                                                  {1024, "1.0 KiB"},
                                                  {1536, "1.5 KiB"},
                                                  {1048576, "1.0 MiB"},
                                                  {1.5e9, "1.4 GiB"},
                                                  {1 << 30, "1.0 GiB"},
                                                  {1099511627776.0, "1024.0 GiB"},
                                                  {1048575, "1024.0 KiB"}};
  for (const auto& [bytes, text] : cases) EXPECT_EQ(bytes_text(bytes), text);
}

// With a cost of round numbers.
ExplainedNode node(const std::string& name, const char* family, double seconds) {
  ExplainedNode n;
  n.name = name;
  n.op = "math.add";
  n.group = group_of(name);
  n.family = family;
  n.device = "cpu";
  n.kernel = "k";
  n.reason = "because </script>";
  n.cost = {.flops = 8, .int_ops = 0, .weight_bytes = 1, .read_bytes = 2, .write_bytes = 1};
  n.bound = "memory";
  n.roof_seconds = seconds / 2;
  n.predicted_seconds = seconds;
  return n;
}

// One phase with three nodes.
ExplainReport example() {
  ExplainPhase phase{.name = "decode", .tokens = 1, .cached_rows = 256, .explanation = {}};
  Explanation& e = phase.explanation;
  e.nodes = {node("blk.0.a", "products", 2e-6), node("blk.1.a", "products", 4e-6),
             node("out", "other", 1e-6)};
  for (const ExplainedNode& n : e.nodes) {
    e.total += n.cost;
    e.roof_seconds += n.roof_seconds;
    e.predicted_seconds += n.predicted_seconds;
  }
  e.roof = {.bytes_per_second = 2e10,
            .flops_per_second = 1e11,
            .int_ops_per_second = 4e11,
            .step_seconds = 1e-6};
  return {.source = "m.gguf: llama",
          .backend = "cpu",
          .arch = "avx2",
          .threads = 2,
          .numerics = "strict",
          .is_measured = false,
          .phases = {phase}};
}

// What goes to stdout.
std::string printed(const ExplainReport& report, bool is_summary) {
  testing::internal::CaptureStdout();
  print_report(report, is_summary);
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

// In microseconds.
TEST(ExplainReport, JsonHoldsEveryNode) {
  const auto json = to_json(example());
  EXPECT_EQ(json["source"], "m.gguf: llama");
  EXPECT_EQ(json["measured"], false);
  EXPECT_EQ(json["roof"]["bytes_per_second"], 2e10);
  const auto& phase = json["phases"][0];
  EXPECT_EQ(phase["tokens"], 1);
  EXPECT_EQ(phase["flops"], 24);
  EXPECT_DOUBLE_EQ(phase["predicted_us"].get<double>(), 7);
  EXPECT_FALSE(phase.contains("measured_us"));
  EXPECT_FALSE(phase.contains("arena_bytes"));
  ASSERT_EQ(phase["nodes"].size(), 3U);
  EXPECT_EQ(phase["nodes"][0]["group"], "blk.*.a");
  EXPECT_EQ(phase["nodes"][0]["intensity"], 2);
  EXPECT_DOUBLE_EQ(phase["nodes"][0]["roof_share"].get<double>(), 0.5);
  EXPECT_FALSE(phase["nodes"][0].contains("measured_us"));
}

// Where there are any.
TEST(ExplainReport, MeasuredTimesReplacePredictions) {
  ExplainReport report = example();
  report.is_measured = true;
  Explanation& e = report.phases[0].explanation;
  e.nodes[0].measured_seconds = 10e-6;
  e.measured_seconds = 10e-6;
  e.memory.emplace();
  e.memory->arena_bytes = 4096;
  e.memory->unplanned_bytes = 8192;
  const auto phase = to_json(report)["phases"][0];
  EXPECT_DOUBLE_EQ(phase["nodes"][0]["measured_us"].get<double>(), 10);
  EXPECT_DOUBLE_EQ(phase["nodes"][0]["roof_share"].get<double>(), 0.1);
  EXPECT_FALSE(phase["nodes"][1].contains("measured_us"));
  EXPECT_EQ(phase["arena_bytes"], 4096);
  const std::string text = printed(report, false);
  EXPECT_NE(text.find("decode: 3 nodes, 0.010 ms measured (0.007 ms predicted)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("; arena 4.0 KiB\n"), std::string::npos) << text;
}

// Models have hundreds.
TEST(ExplainReport, SummariesLeaveTheNodesOut) {
  const std::string whole = printed(example(), false), summary = printed(example(), true);
  EXPECT_NE(whole.find("blk.1.a "), std::string::npos);
  EXPECT_EQ(summary.find("blk.1.a "), std::string::npos);
  for (const std::string& text : {whole, summary}) {
    EXPECT_NE(text.find("blk.*.a "), std::string::npos) << text;
    EXPECT_NE(text.find("on cpu (avx2), 2 threads, strict numerics"), std::string::npos);
    EXPECT_NE(text.find("roof: 20.0 GB/s of memory, 100 Gflop/s in f32, 400 Gop/s in int8"),
              std::string::npos);
    // Sums stand with the longest first.
    EXPECT_LT(text.find("\nproducts "), text.find("\nother "));
  }
}

// No division by what is not there.
TEST(ExplainReport, AReportWithoutPhasesIsPrintedToo) {
  ExplainReport report = example();
  report.phases.clear();
  EXPECT_TRUE(to_json(report)["phases"].empty());
  EXPECT_NE(printed(report, false).find("roof: 0.0 GB/s"), std::string::npos);
}

// The page holds the data in a script element, which no text of it may end.
TEST(ExplainPage, DataCannotEndItsElement) {
  const std::string page = html_page(example());
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(open) + open.size();
  const size_t end = page.find("</script>", begin);
  const auto json = nlohmann::json::parse(page.substr(begin, end - begin), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["phases"][0]["nodes"][0]["why"], "because </script>");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  for (const char* outside : {"src=\"", "href=", "@import", "http"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;  // it needs nothing else
  }
}

// Compilation ----------------------------------------------------------------------------------

// The graph of a text that must parse.
Graph graph_of(const char* text) {
  auto graph = parse_graph(text, builtin_ops());
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  return std::move(*graph);
}

constexpr const char* kTwo = R"(graph {
  %x = Input() {type = "f32[2]"} : f32[2]
  %y = math.exp(%x) : f32[2]
  output y = %y
}
)";
constexpr const char* kOne = R"(graph {
  %x = Input() {type = "f32[2]"} : f32[2]
  output y = %x
}
)";

// By text, which is all that a pass can change.
TEST(CompileReport, APassIsComparedBeforeAndAfter) {
  const Graph before = graph_of(kTwo), after = graph_of(kOne);
  const PassReport changed =
      report_pass({.pass = "cut", .before = before, .after = after, .seconds = 0.5}, true, false);
  EXPECT_EQ(changed.name, "cut");
  EXPECT_EQ(changed.nodes_before, 2U);
  EXPECT_EQ(changed.nodes_after, 1U);
  EXPECT_TRUE(changed.has_changed);
  EXPECT_EQ(changed.ir_before, kTwo);
  EXPECT_EQ(changed.ir_after, "");
  const PassReport same =
      report_pass({.pass = "keep", .before = before, .after = before, .seconds = 0}, false, true);
  EXPECT_FALSE(same.has_changed);
  EXPECT_EQ(same.ir_after, kTwo);
}

// Two passes and the plan of one run.
CompileReport compile_example() {
  CompileReport report{.source = "g.txt: a graph of 2 nodes",
                       .backend = "cpu",
                       .arch = "avx2",
                       .numerics = "strict",
                       .nodes_before = 2,
                       .nodes_after = 1};
  report.passes = {{.name = "cut",
                    .nodes_before = 2,
                    .nodes_after = 1,
                    .has_changed = true,
                    .seconds = 0.001,
                    .ir_before = "IR A\n",
                    .ir_after = "IR B\n"},
                   {.name = "keep",
                    .nodes_before = 1,
                    .nodes_after = 1,
                    .has_changed = false,
                    .seconds = 0,
                    .ir_before = "",
                    .ir_after = ""}};
  MemoryReport memory{.phase = {"run", {}}, .sizes = {}, .high_water_node = "y", .storages = {}};
  memory.phase.symbols.set('T', 4);
  memory.sizes.arena_bytes = 256;
  memory.sizes.unplanned_bytes = 1024;
  memory.storages = {{.value = "y",
                      .home = Home::kArena,
                      .is_packed = true,
                      .size_bytes = 256,
                      .offset = 64,
                      .first = "y",
                      .last = "z",
                      .shared_by = {"z"}}};
  report.memory = {memory};
  return report;
}

// For programs that look for regressions.
TEST(CompileReport, JsonHoldsPassesAndPlan) {
  const auto json = to_json(compile_example());
  EXPECT_EQ(json["passes"].size(), 2U);
  EXPECT_EQ(json["passes"][0]["ir_before"], "IR A\n");
  EXPECT_FALSE(json["passes"][1].contains("ir_before"));
  EXPECT_EQ(json["fused"], nlohmann::ordered_json::array());
  EXPECT_FALSE(json.contains("ir"));
  const auto& memory = json["memory"][0];
  EXPECT_EQ(memory["symbols"], (nlohmann::ordered_json{{"T", 4}}));
  EXPECT_EQ(memory["arena_share"], 0.25);
  EXPECT_EQ(memory["storages"][0]["home"], home_name(Home::kArena));
  EXPECT_EQ(memory["storages"][0]["shared_by"], nlohmann::ordered_json::array({"z"}));
}

// A compilation without passes is still a list.
TEST(CompileReport, NoPassesAreAnEmptyList) {
  CompileReport report = compile_example();
  report.passes.clear();
  report.memory.clear();
  const auto json = to_json(report);
  EXPECT_EQ(json["passes"], nlohmann::ordered_json::array());
  EXPECT_EQ(json["memory"], nlohmann::ordered_json::array());
}

// The same facts as the JSON.
TEST(CompileReport, TablesForPeople) {
  const auto print = [](bool has_plan) {
    testing::internal::CaptureStdout();
    print_report(compile_example(), has_plan);
    std::fflush(stdout);
    return testing::internal::GetCapturedStdout();
  };
  const std::string text = print(false);
  for (const char* part :
       {"g.txt: a graph of 2 nodes, for cpu (avx2), strict numerics", "2 -> 1", "unchanged",
        "# before cut\nIR A\n", "# after cut\nIR B\n", "No fused nodes.", "Memory of run (T = 4)",
        "25.0 % of the unplanned 1.0 KiB"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(text.find("(packed)"), std::string::npos);
  EXPECT_NE(print(true).find("y (packed)"), std::string::npos);
  EXPECT_NE(print(true).find("also z"), std::string::npos);
}

TEST(CompileReport, FusedNodesAreGroupedByProgram) {
  EXPECT_TRUE(report_fused(graph_of(kTwo)).empty());
}

}  // namespace
}  // namespace quern::cli
