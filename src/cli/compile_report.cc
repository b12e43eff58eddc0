// Facts of a compilation, from its traces and its artifact.
// Gathering and printing are apart, so that JSON and tables cannot disagree.
#include "cli/compile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/graph_source.h"
#include "quern/op.h"

namespace quern::cli {
namespace {

// Empty past the last step.
std::string step_name(const Graph& graph, const MemoryPlan& plan, int32_t step) {
  const auto index = static_cast<size_t>(step);
  return index < plan.steps.size() ? graph.node(plan.steps[index].node).name : "";
}

// The storages in the order of their values; each with all values that lie in it.
std::vector<StorageReport> report_storages(const Graph& graph, const MemoryPlan& plan,
                                           const PlanSizes& sizes) {
  std::vector<StorageReport> storages;
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    // Inputs and weights are there before the first step.
    const bool is_made = storage.home == Home::kArena || storage.home == Home::kResult;
    storages.push_back({.value = graph.value(storage.value).name,
                        .home = storage.home,
                        .is_packed = storage.is_packed,
                        .size_bytes = sizes.storage_bytes[i],
                        .offset = sizes.offsets[i],
                        .first = is_made ? step_name(graph, plan, storage.first) : "",
                        .last = step_name(graph, plan, storage.last),
                        .shared_by = {}});
  }
  for (size_t value = 0; value < plan.value_storage.size(); ++value) {
    const int32_t storage = plan.value_storage[value];
    if (storage == kNoStorage) continue;
    StorageReport& report = storages[static_cast<size_t>(storage)];
    const std::string& name = graph.values()[value].name;
    // The storage is called after its own value; the others lie in the same bytes.
    if (name != report.value) report.shared_by.push_back(name);
  }
  return storages;
}

// Without IR that was not asked for.
nlohmann::ordered_json pass_json(const PassReport& pass) {
  nlohmann::ordered_json json = {{"name", pass.name},
                                 {"nodes_before", pass.nodes_before},
                                 {"nodes_after", pass.nodes_after},
                                 {"changed", pass.has_changed},
                                 {"seconds", pass.seconds}};
  // The printed IR of a model is megabytes.
  if (!pass.ir_before.empty()) json["ir_before"] = pass.ir_before;
  if (!pass.ir_after.empty()) json["ir_after"] = pass.ir_after;
  return json;
}

// Those of models first, in their order; others where they have values.
constexpr std::string_view kSymbols = "TSRABCDEFGHIJKLMNOPQUVWXYZ";

// The symbols that have values.
nlohmann::ordered_json symbols_json(const SymbolValues& symbols) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const char symbol : kSymbols) {
    // An unset symbol is negative.
    if (symbols.get(symbol) >= 0) json[std::string(1, symbol)] = symbols.get(symbol);
  }
  return json;
}

// Of what values would take without sharing; 1 where there are none.
double share(const PlanSizes& sizes) {
  const auto whole = static_cast<double>(sizes.unplanned_bytes);
  return whole > 0 ? static_cast<double>(sizes.arena_bytes) / whole : 1;
}

// Every storage, in the order of its values.
nlohmann::ordered_json memory_json(const MemoryReport& memory) {
  auto storages = nlohmann::ordered_json::array();
  for (const StorageReport& storage : memory.storages) {
    storages.push_back({{"value", storage.value},
                        {"home", home_name(storage.home)},
                        {"packed", storage.is_packed},
                        {"bytes", storage.size_bytes},
                        {"offset", storage.offset},
                        {"first", storage.first},
                        {"last", storage.last},
                        {"shared_by", storage.shared_by}});
  }
  return {{"phase", memory.phase.name},
          {"symbols", symbols_json(memory.phase.symbols)},
          {"arena_bytes", memory.sizes.arena_bytes},
          {"high_water_bytes", memory.sizes.high_water_bytes},
          {"high_water_node", memory.high_water_node},
          {"unplanned_bytes", memory.sizes.unplanned_bytes},
          {"arena_share", share(memory.sizes)},
          {"result_bytes", memory.result_bytes},
          {"loaded_bytes", memory.loaded_bytes},
          {"storages", std::move(storages)}};
}

// A line for each pass, between the IR that was asked for.
void print_passes(const CompileReport& report) {
  fmt::print("\n{:<34} {:>13} {:>10}\n", "pass", "nodes", "ms");
  double total = 0;
  for (const PassReport& pass : report.passes) {
    if (!pass.ir_before.empty()) fmt::print("\n# before {}\n{}", pass.name, pass.ir_before);
    const std::string nodes = pass.nodes_before == pass.nodes_after
                                  ? fmt::format("{}", pass.nodes_after)
                                  : fmt::format("{} -> {}", pass.nodes_before, pass.nodes_after);
    fmt::print("{:<34} {:>13} {:>10.2f}  {}\n", pass.name, nodes, 1e3 * pass.seconds,
               pass.has_changed ? "" : "unchanged");
    if (!pass.ir_after.empty()) fmt::print("\n# after {}\n{}\n", pass.name, pass.ir_after);
    total += pass.seconds;
  }
  fmt::print("{:<34} {:>13} {:>10.2f}\n", "all",
             fmt::format("{} -> {}", report.nodes_before, report.nodes_after), 1e3 * total);
}

// Programs with the number of nodes that share them.
void print_fused(const CompileReport& report) {
  if (report.fused.empty()) {
    fmt::print("\nNo fused nodes.\n");
    return;
  }
  fmt::print("\nFused nodes\n");
  for (const FusedReport& fused : report.fused) {
    fmt::print("{:>5} {:<20} {:<58} e.g. {}\n", fused.nodes.size(), fused.op, fused.program,
               fused.nodes.front());
  }
}

// "T = 4, R = 1".
std::string symbols_text(const SymbolValues& symbols) {
  std::string text;
  for (const char symbol : kSymbols) {
    if (symbols.get(symbol) < 0) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", symbol, symbols.get(symbol));
  }
  return text;
}

// Weights that are read in place are left out: there are hundreds.
void print_storages(const MemoryReport& memory) {
  fmt::print("  {:<40} {:<7} {:>12} {:>12}  {}\n", "value", "home", "bytes", "offset", "alive");
  for (const StorageReport& storage : memory.storages) {
    if (storage.home == Home::kLoaded) continue;
    fmt::print("  {:<40} {:<7} {:>12} {:>12}  {} .. {}\n",
               storage.value + (storage.is_packed ? " (packed)" : ""), home_name(storage.home),
               storage.size_bytes, storage.offset, storage.first, storage.last);
    for (const std::string& other : storage.shared_by) fmt::print("    also {}\n", other);
  }
}

// Sums of one phase.
void print_memory(const MemoryReport& memory, bool has_plan) {
  const PlanSizes& sizes = memory.sizes;
  fmt::print("\nMemory of {} ({})\n", memory.phase.name, symbols_text(memory.phase.symbols));
  fmt::print("  arena       {:>12}  {:.1f} % of the unplanned {}\n",
             bytes_text(static_cast<double>(sizes.arena_bytes)), 100 * share(sizes),
             bytes_text(static_cast<double>(sizes.unplanned_bytes)));
  fmt::print("  high water  {:>12}  at {}\n",
             bytes_text(static_cast<double>(sizes.high_water_bytes)), memory.high_water_node);
  fmt::print("  results     {:>12}\n", bytes_text(static_cast<double>(memory.result_bytes)));
  fmt::print("  in place    {:>12}  of weights that are not packed\n",
             bytes_text(static_cast<double>(memory.loaded_bytes)));
  if (has_plan) print_storages(memory);
}

}  // namespace

// Powers of 1,024 up to GiB; bytes without a decimal.
std::string bytes_text(double bytes) {
  // No larger unit: models of thousands of GiB do not fit a machine anyway.
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

// Compares the text of both graphs: a pass may change attributes only.
PassReport report_pass(const PassTrace& trace, bool has_before, bool has_after) {
  return {.name = std::string(trace.pass),
          .nodes_before = trace.before.nodes().size(),
          .nodes_after = trace.after.nodes().size(),
          .has_changed = print_graph(trace.before) != print_graph(trace.after),
          .seconds = trace.seconds,
          .ir_before = has_before ? print_graph(trace.before) : "",
          .ir_after = has_after ? print_graph(trace.after) : ""};
}

// Grouped by operation and program.
std::vector<FusedReport> report_fused(const Graph& graph) {
  // A map and no hash table: the report has one order on all machines.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_program;
  for (const Node& node : graph.nodes()) {
    if (!node.op->id.starts_with("fused.")) continue;
    by_program[{node.op->id, node.attributes.text("program")}].push_back(node.name);
  }
  std::vector<FusedReport> fused;
  for (auto& [key, nodes] : by_program) {
    fused.push_back({key.first, key.second, std::move(nodes)});
  }
  return fused;
}

// Only the symbols that stand in the graph.
SymbolValues symbols_of_graph(const Graph& graph, const SymbolValues& values) {
  SymbolValues used;
  for (const char symbol : symbols_of(graph)) used.set(symbol, values.get(symbol));
  return used;
}

// Nothing for backends that plan no memory.
Result<std::vector<MemoryReport>> report_memory(const Artifact& artifact,
                                                const std::vector<MemoryPhase>& phases) {
  std::vector<MemoryReport> reports;
  const MemoryPlan* plan = artifact.memory_plan();
  if (plan == nullptr) return reports;
  const Graph& graph = artifact.graph();
  for (const MemoryPhase& phase : phases) {
    QUERN_ASSIGN_OR_RETURN(const auto shapes, resolve_shapes(graph, phase.symbols));
    MemoryReport report{.phase = phase, .sizes = {}, .high_water_node = {}, .storages = {}};
    QUERN_ASSIGN_OR_RETURN(report.sizes, size_plan(graph, *plan, shapes));
    report.phase.symbols = symbols_of_graph(graph, phase.symbols);
    report.high_water_node =
        step_name(graph, *plan, static_cast<int32_t>(report.sizes.high_water_step));
    report.storages = report_storages(graph, *plan, report.sizes);
    for (const StorageReport& storage : report.storages) {
      if (storage.home == Home::kResult) report.result_bytes += storage.size_bytes;
      if (storage.home == Home::kLoaded) report.loaded_bytes += storage.size_bytes;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

// Lists are there even where they are empty.
nlohmann::ordered_json to_json(const CompileReport& report) {
  nlohmann::ordered_json json = {{"source", report.source},
                                 {"backend", report.backend},
                                 {"arch", report.arch},
                                 {"numerics", report.numerics},
                                 {"nodes_before", report.nodes_before},
                                 {"nodes_after", report.nodes_after}};
  json["passes"] = nlohmann::ordered_json::array();
  for (const PassReport& pass : report.passes) json["passes"].push_back(pass_json(pass));
  json["fused"] = nlohmann::ordered_json::array();
  for (const FusedReport& fused : report.fused) {
    json["fused"].push_back({{"op", fused.op},
                             {"program", fused.program},
                             {"count", fused.nodes.size()},
                             {"nodes", fused.nodes}});
  }
  json["memory"] = nlohmann::ordered_json::array();
  for (const MemoryReport& memory : report.memory) json["memory"].push_back(memory_json(memory));
  if (!report.ir.empty()) json["ir"] = report.ir;
  return json;
}

void print_report(const CompileReport& report, bool has_plan) {
  fmt::print("{}, for {} ({}), {} numerics\n", report.source, report.backend, report.arch,
             report.numerics);
  print_passes(report);
  print_fused(report);
  for (const MemoryReport& memory : report.memory) print_memory(memory, has_plan);
  if (!report.ir.empty()) fmt::print("\n{}", report.ir);
}

}  // namespace quern::cli
