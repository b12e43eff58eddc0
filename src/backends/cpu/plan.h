// A graph as steps over storages: which node runs when, and which values share memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpu/op_table.h"
#include "quern/device.h"
#include "quern/graph.h"

namespace quern::cpu {

// Where the bytes of a storage are.
enum class Home : uint8_t {
  kArena,   // planned memory, reused during a run
  kInput,   // the caller's tensor; `index` counts the graph's inputs
  kLoaded,  // a weight or constant; `index` is its value
  kResult,  // a tensor of the run's result; `index` counts Plan::result_storages
};

// Memory of one value, or of several that share it one after another or as views.
struct Storage {
  Home home = Home::kArena;
  int32_t index = -1;
  ValueId value = kNoValue;  // its type gives the size
  bool is_packed = false;    // the packed form that the producer of `value` gives
  int32_t first = 0;         // steps between which it is alive, both included
  int32_t last = 0;
};

inline constexpr int32_t kNoStorage = -1;

// One node that runs, with the storages of packed forms between it and its neighbours.
struct PlannedStep {
  NodeId node = -1;
  const OpEntry* entry = nullptr;
  int32_t state = -1;                  // index of the graph's state that it reads or writes
  int32_t packed_input = kNoStorage;   // storage of the packed form that it reads
  int32_t packed_output = kNoStorage;  // storage of the packed form that it writes
};

// A value that a run gives back, under its name.
struct PlannedResult {
  std::string name;
  ValueId value = kNoValue;
};

// Made once per graph, for all extents of its symbols. Immutable.
struct Plan {
  std::vector<PlannedStep> steps;  // in the graph's order
  std::vector<Storage> storages;
  std::vector<int32_t> value_storage;  // by value; kNoStorage: never in plain form
  std::vector<int32_t> result_storages;
  std::vector<PlannedResult> results;  // outputs, then readable values
};

// Decides steps, lifetimes and sharing. Needs a verified graph whose nodes are legal. Nodes whose
// results nobody reads do not run.
// Errors: a readable name that the graph does not have.
Result<Plan> make_plan(const Graph& graph, const CompileOptions& options);

}  // namespace quern::cpu
