// The one list of operations that the cpu backend runs, and how.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backends/cpu/step.h"
#include "quern/device.h"

namespace quern::cpu {

// A row of a static table; thread-safe.
// How an operation runs here.
struct OpEntry {
  std::string_view id;
  Support::Kind kind = Support::Kind::kMissing;
  StepMaker make = nullptr;  // null: graph-only, or a view
  // Output 0 is input 0 under another shape: it shares its memory and needs no step.
  bool is_view = false;
  // The input whose weight the step packs at load; such a weight has no plain view. -1: none.
  int packed_weight = -1;
  int second_packed_weight = -1;  // the same for a second product
  // Whether all outputs of a node together have a packed form for the consumers that take one.
  bool (*can_pack)(const Graph& graph, const Node& node) = nullptr;
  // Its size, from the shapes of the outputs.
  int64_t (*packed_bytes)(const Node& node, std::span<const Shape> outputs) = nullptr;
  // Inputs that are read in packed form where one node with a packed form makes them all: the
  // integers and the scales of `quant.dynamic`. -1: none.
  int packed_input = -1;
  int packed_scale = -1;
  // Why a node cannot run although its operation can; empty where it can.
  std::string (*refuse)(const Graph& graph, const Node& node) = nullptr;

  bool packs(int port) const {
    return port >= 0 && (port == packed_weight || port == second_packed_weight);
  }
};

// Sorted by id.
std::span<const OpEntry> op_table();
// Fused operations of the table and what may stand in their programs.
FusionCaps fusion_caps();
// The entry of an operation, or of the one that it is an alias of; null if it is not served.
const OpEntry* find_entry(const OpDef& op);

}  // namespace quern::cpu
