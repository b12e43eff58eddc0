// Tables and JSON of an explanation.
// The same numbers go to tables, JSON and the page.
#include "cli/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/compile_report.h"

namespace quern::cli {
namespace {

using nlohmann::ordered_json;

// Times in microseconds, rates without prefixes.
ordered_json node_json(const ExplainedNode& node) {
  ordered_json json = {{"name", node.name},
                       {"op", node.op},
                       {"group", node.group},
                       {"family", node.family},
                       {"device", node.device},
                       {"kernel", node.kernel},
                       {"why", node.reason},
                       {"bound", node.bound},
                       {"flops", node.cost.flops},
                       {"int_ops", node.cost.int_ops},
                       {"weight_bytes", node.cost.weight_bytes},
                       {"read_bytes", node.cost.read_bytes},
                       {"write_bytes", node.cost.write_bytes},
                       {"intensity", node.cost.intensity()},
                       {"roof_us", 1e6 * node.roof_seconds},
                       {"predicted_us", 1e6 * node.predicted_seconds},
                       {"roof_share", node.roof_share()}};
  // Negative: not measured. An absent key cannot be taken for a time of 0.
  if (node.measured_seconds >= 0) json["measured_us"] = 1e6 * node.measured_seconds;
  return json;
}

// Sums, then nodes in the order they run.
ordered_json phase_json(const ExplainPhase& phase) {
  const Explanation& e = phase.explanation;
  ordered_json json = {{"name", phase.name},
                       {"tokens", phase.tokens},
                       {"cached_rows", phase.cached_rows},
                       {"flops", e.total.flops},
                       {"int_ops", e.total.int_ops},
                       {"weight_bytes", e.total.weight_bytes},
                       {"read_bytes", e.total.read_bytes},
                       {"write_bytes", e.total.write_bytes},
                       {"roof_us", 1e6 * e.roof_seconds},
                       {"predicted_us", 1e6 * e.predicted_seconds}};
  if (e.measured_seconds >= 0) json["measured_us"] = 1e6 * e.measured_seconds;
  // Absent where the backend plans no memory.
  if (e.memory) {
    json["arena_bytes"] = e.memory->arena_bytes;
    json["unplanned_bytes"] = e.memory->unplanned_bytes;
  }
  json["nodes"] = ordered_json::array();
  for (const ExplainedNode& node : e.nodes) json["nodes"].push_back(node_json(node));
  return json;
}

// Sums of nodes under one heading.
struct Sum {
  std::string name;
  std::string kernel;
  size_t count = 0;
  double seconds = 0;
  double roof_seconds = 0;
  double bytes = 0;
};

// Longest first; times are measured where they were.
template <class KeyOf>
std::vector<Sum> sums_by(const Explanation& explanation, KeyOf&& key_of) {
  std::map<std::string, Sum> sums;
  for (const ExplainedNode& node : explanation.nodes) {
    Sum& sum = sums[std::string(key_of(node))];
    // Of the last node: nodes of one kind usually share their kernel.
    sum.kernel = node.kernel;
    ++sum.count;
    sum.seconds += node.seconds();
    sum.roof_seconds += node.roof_seconds;
    sum.bytes += node.cost.bytes();
  }
  std::vector<Sum> sorted;
  for (auto& [name, sum] : sums) {
    sum.name = name;
    sorted.push_back(sum);
  }
  std::ranges::sort(sorted, std::greater(), &Sum::seconds);
  return sorted;
}

// 0 of nothing.
double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

// Measured where it was, else predicted.
double total_seconds(const Explanation& e) {
  return e.measured_seconds >= 0 ? e.measured_seconds : e.predicted_seconds;
}

// A table of sums with their share of time and bytes.
void print_sums(const std::vector<Sum>& sums, const Explanation& e, const char* heading,
                bool has_kernel) {
  const double time = total_seconds(e), bytes = e.total.bytes();
  fmt::print("\n{:<34} {:>5} {:>11} {:>6} {:>11} {:>6} {:>6}  {}\n", heading, "nodes", "us", "%",
             "bytes", "%", "roof%", has_kernel ? "kernel" : "");
  for (const Sum& sum : sums) {
    fmt::print("{:<34} {:>5} {:>11.1f} {:>6.1f} {:>11} {:>6.1f} {:>6.0f}  {}\n", sum.name,
               sum.count, 1e6 * sum.seconds, percent(sum.seconds, time), bytes_text(sum.bytes),
               // The roof's time over the real one: 100 where nothing is lost.
               percent(sum.bytes, bytes), percent(sum.roof_seconds, sum.seconds),
               has_kernel ? sum.kernel : "");
  }
}

// A line for each node.
void print_nodes(const Explanation& e) {
  const bool is_measured = e.measured_seconds >= 0;
  fmt::print("\n{:<34} {:<22} {:<10} {:>10} {:>10} {:>10} {:>6}  {:<10}  {}\n", "node", "operation",
             "device", "predicted", is_measured ? "measured" : "", "bytes", "roof%", "bound",
             "kernel: why");
  for (const ExplainedNode& node : e.nodes) {
    fmt::print("{:<34} {:<22} {:<10} {:>7.1f} us {:>10} {:>10} {:>6.0f}  {:<10}  {}: {}\n",
               node.name, node.op, node.device, 1e6 * node.predicted_seconds,
               is_measured ? fmt::format("{:.1f} us", 1e6 * node.measured_seconds) : "",
               bytes_text(node.cost.bytes()), 100 * node.roof_share(), node.bound, node.kernel,
               node.reason);
  }
}

// One line on the whole phase.
void print_total(const ExplainPhase& phase) {
  const Explanation& e = phase.explanation;
  const double time = total_seconds(e);
  fmt::print("\n{}: {} nodes, {:.3f} ms {}", phase.name, e.nodes.size(), 1e3 * time,
             e.measured_seconds >= 0 ? "measured" : "predicted");
  if (e.measured_seconds >= 0) {
    fmt::print(" ({:.3f} ms predicted)", 1e3 * e.predicted_seconds);
  }
  // Graphs have no tokens.
  if (phase.tokens > 0 && time > 0) {
    fmt::print(", {:.0f} tokens/s", static_cast<double>(phase.tokens) / time);
  }
  fmt::print(", {} of weights and {} of activations moved, {:.2f} Gop; {:.0f} % of the roof",
             bytes_text(e.total.weight_bytes), bytes_text(e.total.read_bytes + e.total.write_bytes),
             // Both kinds of operation: quantised products run on integers.
             1e-9 * (e.total.flops + e.total.int_ops), percent(e.roof_seconds, time));
  if (e.memory) {
    fmt::print("; arena {}", bytes_text(static_cast<double>(e.memory->arena_bytes)));
  }
  fmt::print("\n");
}

}  // namespace

// The roof of the first phase is that of all: the device is one.
nlohmann::ordered_json to_json(const ExplainReport& report) {
  const DeviceRoof roof =
      report.phases.empty() ? DeviceRoof{} : report.phases.front().explanation.roof;
  ordered_json json = {{"source", report.source},
                       {"backend", report.backend},
                       {"arch", report.arch},
                       {"threads", report.threads},
                       {"numerics", report.numerics},
                       {"measured", report.is_measured},
                       {"roof",
                        {{"bytes_per_second", roof.bytes_per_second},
                         {"flops_per_second", roof.flops_per_second},
                         {"int_ops_per_second", roof.int_ops_per_second},
                         {"step_seconds", roof.step_seconds}}}};
  json["phases"] = ordered_json::array();
  for (const ExplainPhase& phase : report.phases) json["phases"].push_back(phase_json(phase));
  return json;
}

void print_report(const ExplainReport& report, bool is_summary) {
  const DeviceRoof roof =
      report.phases.empty() ? DeviceRoof{} : report.phases.front().explanation.roof;
  fmt::print("{}\non {} ({}), {} threads, {} numerics\n", report.source, report.backend,
             report.arch, report.threads, report.numerics);
  fmt::print(
      "roof: {:.1f} GB/s of memory, {:.0f} Gflop/s in f32, {:.0f} Gop/s in int8, {:.2f} us to "
      "start a node\n",
      1e-9 * roof.bytes_per_second, 1e-9 * roof.flops_per_second, 1e-9 * roof.int_ops_per_second,
      1e6 * roof.step_seconds);
  for (const ExplainPhase& phase : report.phases) {
    if (!is_summary) print_nodes(phase.explanation);
    print_total(phase);
    print_sums(sums_by(phase.explanation, [](const ExplainedNode& n) { return n.group; }),
               phase.explanation, "kind of node", true);
    print_sums(sums_by(phase.explanation, [](const ExplainedNode& n) { return n.family; }),
               phase.explanation, "kind of work", false);
  }
}

}  // namespace quern::cli
