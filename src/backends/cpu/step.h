// A step: one node of a plan, made ready for this machine when a graph is loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/cpu/machine.h"
#include "quern/device.h"
#include "quern/graph.h"
#include "quern/op.h"

namespace quern {
class HostKvStore;
}

namespace quern::cpu {

// What a step sees when it runs. Views are in port order; an absent optional input, a weight that
// the step packed and an output in plain form that nobody reads have no data.
struct StepContext {
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  std::byte* scratch = nullptr;        // scratch_bytes() bytes, 64-byte aligned
  std::byte* packed_input = nullptr;   // the packed form of inputs, see OpEntry
  std::byte* packed_output = nullptr;  // where the packed form of the outputs goes
  HostKvStore* kv = nullptr;           // the state that the attribute `state` names
  uint32_t stream = 0;                 // step counter of random operations
};

// What a run of a step amounts to, for profiles.
struct StepWork {
  std::string detail;   // empty: the shape of the output
  double products = 0;  // multiplications, each with an addition
  double bytes = 0;     // 0: those of all operands and results
};

// Made by a StepMaker; owns what it prepared (packed weights, tables). One thread only.
class Step {
 public:
  virtual ~Step() = default;
  virtual Result<void> run(const StepContext& context) = 0;
  // Bytes of weights that the step keeps in a layout of its own.
  virtual int64_t weight_bytes() const { return 0; }
  // The packed weights that every run reads from their beginning; empty: none.
  virtual std::span<const std::byte> weights() const { return {}; }
  // Of the run that had this context.
  virtual StepWork work(const StepContext&) const { return {}; }
};

class LoadedValues;  // weights and constants, known when a graph is loaded
class SharedTables;

// True for a weight or a constant.
inline bool is_loaded(const Graph& graph, ValueId value) {
  const OpDef& producer = *graph.node(graph.value(value).producer).op;
  return producer.id == "graph.weight" || producer.id == "graph.constant";
}

struct StepRequest {
  const Graph& graph;
  NodeId id;
  Machine& machine;
  const LoadedValues& loaded;
  SharedTables& tables;
  // What is promised about the bits of results. Steps without other forms run the strict one.
  Numerics numerics = Numerics::kStrict;

  const Node& node() const { return graph.node(id); }
  // Of the operation that an alias stands for.
  std::string_view op_id() const {
    return node().op->alias_of.empty() ? node().op->id : node().op->alias_of;
  }
  // Whether a product and its addition may round once.
  bool fuses_products() const { return numerics != Numerics::kStrict; }
  const Attributes& attributes() const { return node().attributes; }
  bool has_input(size_t port) const {
    return port < node().inputs.size() && node().inputs[port] != kNoValue;
  }
  // True for an input that is a weight or a constant.
  bool is_loaded(size_t port) const { return cpu::is_loaded(graph, node().inputs[port]); }
  // Type of a present input.
  const TensorType& input_type(size_t port) const { return graph.value(node().inputs[port]).type; }
  const TensorType& output_type(size_t port) const {
    return graph.value(node().outputs[port]).type;
  }
};

using StepMaker = Result<std::unique_ptr<Step>> (*)(const StepRequest& request);

}  // namespace quern::cpu
