// What `quern compile` tells: passes, fused nodes, memory.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "passes/memory_plan.h"
#include "quern/device.h"

namespace quern::cli {

// What one pass did.
struct PassReport {
  std::string name;
  size_t nodes_before = 0;
  size_t nodes_after = 0;
  bool has_changed = false;
  double seconds = 0;
  // Empty: not asked for.
  std::string ir_before;  // empty: not asked for
  std::string ir_after;
};

// Fused nodes with one program.
struct FusedReport {
  // Of the operation fused.*, what it computes, and which nodes do.
  std::string op;
  std::string program;
  std::vector<std::string> nodes;
};

// A size to plan for, with its name.
struct MemoryPhase {
  // "decode" or "prefill" with its extents.
  std::string name;
  SymbolValues symbols;
};

// One storage of the plan, and the values that use it one after another or as views.
struct StorageReport {
  // The value that gives the storage its size.
  std::string value;
  Home home = Home::kArena;
  bool is_packed = false;
  int64_t size_bytes = 0;
  int64_t offset = 0;
  // Names of nodes, not numbers of steps: a reader searches for them in the graph.
  std::string first;  // node that first writes it; empty: there from the start
  std::string last;   // node that last reads it; empty: to the end
  // Other values in the same place, in turn or as views.
  std::vector<std::string> shared_by;
};

// The plan for one size.
struct MemoryReport {
  MemoryPhase phase;
  PlanSizes sizes;
  std::string high_water_node;
  int64_t result_bytes = 0;
  int64_t loaded_bytes = 0;  // weights and constants that steps read in place
  std::vector<StorageReport> storages;
};

// Everything that the command tells.
struct CompileReport {
  std::string source;
  std::string backend;
  std::string arch;
  std::string numerics;
  size_t nodes_before = 0;
  size_t nodes_after = 0;
  std::vector<PassReport> passes = {};
  std::vector<FusedReport> fused = {};
  std::vector<MemoryReport> memory = {};  // empty for backends that plan none
  std::string ir = {};
};

// Before and after are kept only where they are printed.
// `trace` is borrowed for the call.
PassReport report_pass(const PassTrace& trace, bool has_before, bool has_after);
std::vector<FusedReport> report_fused(const Graph& graph);
// Errors: sizes past the limits.
Result<std::vector<MemoryReport>> report_memory(const Artifact& artifact,
                                                const std::vector<MemoryPhase>& phases);

// Numbers in bytes and seconds.
nlohmann::ordered_json to_json(const CompileReport& report);
// To stdout. `has_plan` adds every storage.
void print_report(const CompileReport& report, bool has_plan);

// "1.5 KiB"
std::string bytes_text(double bytes);

}  // namespace quern::cli
