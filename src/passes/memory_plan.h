// Where the values of a graph live during a run: lifetimes, sharing, in-place results.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/graph.h"
#include "quern/shape.h"

namespace quern {

// Where the bytes of a storage are.
enum class Home : uint8_t {
  kArena,   // planned memory, reused during a run
  kInput,   // the caller's tensor; `index` counts the graph's inputs
  kLoaded,  // a weight or constant; `index` is its value
  kResult,  // a tensor of the run's result; `index` counts MemoryPlan::result_storages
};
// "arena", "input", "weight", "result": for reports.
std::string_view home_name(Home home);

// Memory of one value, or of several that share it one after another or as views.
struct Storage {
  Home home = Home::kArena;
  int32_t index = -1;
  ValueId value = kNoValue;  // its type gives the size
  bool is_packed = false;    // the packed form that the producer of `value` gives
  int32_t first = 0;         // steps between which it is alive, both included
  int32_t last = 0;
};

// In tables by value: the value has no plain bytes anywhere.
inline constexpr int32_t kNoStorage = -1;

// A node that runs.
struct MemoryStep {
  NodeId node = -1;
  int32_t packed_input = kNoStorage;   // storage of the packed form that it reads
  int32_t packed_output = kNoStorage;  // storage of the packed form that it writes
};

// A tensor that a run gives back under this name.
struct PlannedResult {
  std::string name;
  ValueId value = kNoValue;
};

// Made once per graph, for all extents of its symbols. Immutable.
struct MemoryPlan {
  std::vector<MemoryStep> steps;  // in the graph's order
  std::vector<Storage> storages;
  std::vector<int32_t> value_storage;  // by value; kNoStorage: never in plain form
  std::vector<int32_t> result_storages;
  std::vector<PlannedResult> results;  // outputs, then readable values
  // Copied from MemoryRules, so that size_plan() needs the plan alone.
  // Bytes of the packed form of a node's outputs, from their shapes; null where nothing is packed.
  int64_t (*packed_bytes)(const Node& node, std::span<const Shape> outputs) = nullptr;
};

// How a backend uses the memory of one node.
struct NodeMemory {
  enum class Kind : uint8_t {
    kNone,  // there when a run starts
    kStep,  // writes its outputs
    kView,  // output 0 is input 0 under another shape
  };
  Kind kind = Kind::kStep;
  bool has_packed_form = false;  // of all outputs together
  std::vector<int> packed_ports =
      {};  // read in packed form where one node's packed form has them all
  // A port listed here reads plain bytes only where its value is no graph.weight.
  std::vector<int> loaded_ports = {};  // weights that are packed at load have no plain form
};

// The backend's part of planning: functions without state, so that a plan is a function of the
// graph.
struct MemoryRules {
  NodeMemory (*of_node)(const Graph& graph, NodeId node) = nullptr;
  int64_t (*packed_bytes)(const Node& node, std::span<const Shape> outputs) = nullptr;
  // Whether memory is used again, in place or after its last reader. False gives every value memory
  // of its own for the whole run.
  bool reuses = true;
};

// Nodes that some result or effect needs become steps, in the graph's order. A value lives from the
// step that makes it to the last that reads it; results leave the arena. An output takes the memory
// of the input that its operation names (OpDef::in_place_input) where this step is its last reader.
// Needs a verified graph. Errors: a readable name that the graph does not have.
// `rules.of_node` must be set. The plan keeps no reference to graph or rules.
Result<MemoryPlan> plan_memory(const Graph& graph, const std::vector<std::string>& readable,
                               const MemoryRules& rules);

// A plan for one binding of the graph's symbols.
// Immutable once made; a run with other symbols makes another.
struct PlanSizes {
  std::vector<int64_t> storage_bytes;  // by storage
  std::vector<int64_t> offsets;        // by storage, in the arena; 0 elsewhere
  int64_t arena_bytes = 0;
  // The most that values of the arena take at one time: no layout can be smaller.
  int64_t high_water_bytes = 0;
  // Index in MemoryPlan::steps; the first one where several take as much.
  int64_t high_water_step = 0;
  // What the same values would take if each had memory of its own.
  int64_t unplanned_bytes = 0;
// arena_bytes >= high_water_bytes; the gap is what the layout lost to alignment and fragments.
};

// `shapes` by value. Errors: sizes past 2^46 bytes together.
Result<PlanSizes> size_plan(const Graph& graph, const MemoryPlan& plan,
                            std::span<const Shape> shapes);
// The shape of each value. Errors: an unbound symbol, an extent past the limits of shapes.
Result<std::vector<Shape>> resolve_shapes(const Graph& graph, const SymbolValues& symbols);

}  // namespace quern
