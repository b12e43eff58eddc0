// Backends, devices and what they run: the contract of every processor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/graph.h"
#include "quern/kv_store.h"
#include "quern/tensor.h"
#include "quern/weight_source.h"

namespace quern {

struct MemoryPlan;

// What is promised about the bits of results (numerics of the architecture).
enum class Numerics : uint8_t {
  kStrict,         // the same bits on every backend, thread count and batch size
  kDeterministic,  // the same bits on one device and build
  kFast,           // within a stated error of strict
};
std::string_view numerics_name(Numerics numerics);
std::optional<Numerics> find_numerics(std::string_view name);

enum class CorrectnessClass : uint8_t {
  kReference,  // the definition
  kBitExact,   // equal to the reference under strict
  kApprox,     // within a stated bound of the reference
};

// Memory of a device in bytes; `free_bytes` is absent where the system does not tell.
struct DeviceCapacity {
  int64_t total_bytes = 0;
  std::optional<int64_t> free_bytes;
};

// What a device is and can do. Optional abilities that are absent mean the core path.
struct Capabilities {
  std::string arch;  // "x86-64 avx512-vnni", "scalar", ...
  CorrectnessClass correctness = CorrectnessClass::kApprox;
  bool has_f64 = false;
  bool keeps_denormals = false;
  bool is_fma_fused = false;  // fma() rounds once
  int32_t num_threads = 1;
  int32_t max_vector_bits = 0;
};

// Rates that no kernel of a device can pass, measured, not declared; they move with the clock.
struct DeviceRoof {
  double bytes_per_second = 0;    // reads from its memory
  double flops_per_second = 0;    // f32 additions and multiplications, in pairs
  double int_ops_per_second = 0;  // additions and multiplications of int8 products
  double step_seconds = 0;        // a node that does nothing
};

struct DeviceDescription {
  std::string name;         // "cpu", "cuda:0"
  std::string description;  // a line for a person
};

struct DeviceOptions {
  int num_threads = 0;   // 0: what the machine offers
  std::string isa = {};  // caps the instruction set ("scalar", "sse2", "avx2", ...); empty: best
};

// How a backend serves an operation.
struct Support {
  enum class Kind : uint8_t {
    kDirect,     // a kernel of its own
    kComposite,  // through the operation's expansion
    kRegistry,   // the reference kernel, listed by the backend on purpose
    kGraphOnly,  // needs no kernel
    kMissing,
  };
  Kind kind = Kind::kMissing;
  std::string reason;  // for kMissing: a sentence
};
std::string_view support_name(Support::Kind kind);

// Which nodes a backend runs as one. The fusion passes make nothing that is not listed here.
struct FusionCaps {
  std::vector<std::string_view> fused_ops;    // "fused.linear", ...: see src/ops/fused_*.cc
  std::vector<std::string_view> program_ops;  // elementwise operations inside a fused node
  int max_instructions = 0;                   // of its program
  int max_operands = 0;                       // tensors that the program reads

  bool has(std::string_view fused_op) const;
};

// Which passes run, by name (default_pipeline() lists them). Required ones always run.
struct PassSelection {
  std::vector<std::string> only;  // empty: all
  std::vector<std::string> off;
};

// What a pass made of a graph, told right after it ran.
struct PassTrace {
  std::string_view pass;
  const Graph& before;
  const Graph& after;
  double seconds = 0;
};
using PassObserver = std::function<void(const PassTrace&)>;

// What runs a node and why, for people: `quern explain`.
struct KernelChoice {
  std::string kernel;  // "q4_1 weights x int16 activations, avx512-vnni"
  std::string reason;  // a sentence
};

struct CompileOptions {
  Numerics numerics = Numerics::kStrict;
  // Values that must be readable after a run although they are not outputs.
  std::vector<std::string> readable = {};
  PassSelection passes = {};
  PassObserver observer = {};
  // Patterns of node names ('*' stands for any text) and the devices they go to; the first that
  // matches wins, other nodes go to the device that is compiled for.
  std::vector<std::pair<std::string, std::string>> placement = {};
};

// Told (done, total) bytes or steps during long work.
using Progress = std::function<void(int64_t done, int64_t total)>;

// Seconds that nodes of one run took, in the order they ran; nodes are those of Artifact::graph().
struct NodeTime {
  NodeId node = -1;
  double seconds = 0;
};
struct RunProfile {
  std::vector<NodeTime> nodes;
};

struct RunArguments {
  // One for each graph input; equal symbols must have equal extents.
  std::map<std::string, Tensor, std::less<>> inputs;
  // One for each state that the graph declares.
  std::map<std::string, KvStore*, std::less<>> states;
  uint32_t stream = 0;  // step counter of random operations
  // Memory for results, by name: writable host tensors, dense and row-major, with the result's type
  // and no byte in common with an input. The run fills and returns them; other results get memory
  // of their own.
  std::map<std::string, Tensor, std::less<>> outputs = {};
  RunProfile* profile = nullptr;  // where given, filled with the times of this run's nodes
};

// Outputs in the graph's order, then the readable values in the order asked for.
struct RunResult {
  std::vector<std::pair<std::string, Tensor>> values;
  const Tensor* find(std::string_view name) const;
};

// Work in flight; wait() returns its results or the first error of it.
class Submission {
 public:
  virtual ~Submission() = default;
  virtual Result<RunResult> wait() = 0;
};

// Runs of one kind of work, summed: an operation on operands of one shape and type.
struct ProfileEntry {
  std::string op;      // id of the operation
  std::string detail;  // what it ran on, for a person: "q4_0 int8 [5632, 2048] x 512"
  int64_t runs = 0;
  double seconds = 0;
  double products = 0;  // multiplications of two numbers, each with an addition; 0: not counted
  double bytes = 0;     // of operands and results, each counted once a run
};

// A graph ready to run on one device with its weights. One thread only.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual Result<std::unique_ptr<Submission>> submit(const RunArguments& arguments) = 0;
  Result<RunResult> run(const RunArguments& arguments);
  // Bytes of weights held privately and the most that planned values took so far.
  virtual int64_t weight_bytes() const = 0;
  virtual int64_t arena_bytes() const = 0;
  // While profiling, each step of a run is timed by the clock on the wall. Devices that cannot
  // tell steps apart give no entries.
  virtual void set_profiling(bool /*is_on*/) {}
  // Entries since the last call, in the order in which the kinds of work first ran.
  virtual std::vector<ProfileEntry> take_profile() { return {}; }
};

// Code for a graph, made without hardware. A backend derives its own.
class Artifact {
 public:
  virtual ~Artifact() = default;
  // The graph that runs, after all passes.
  virtual const Graph& graph() const = 0;
  // Where its values live, for backends that plan memory; null for others.
  virtual const MemoryPlan* memory_plan() const { return nullptr; }
};

// The run-time half of a backend. One thread only.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceDescription& description() const = 0;
  virtual const Capabilities& capabilities() const = 0;
  virtual DeviceCapacity capacity() const = 0;
  virtual Result<Buffer> allocate(int64_t size_bytes) = 0;
  // Measures the roof; takes less than a second. Nothing where the device cannot tell.
  virtual std::optional<DeviceRoof> measure_roof() { return std::nullopt; }
  // Takes the weights of the graph's graph.weight nodes into the device's own layout. The source
  // is needed only during the call, unless its tensors are mapped and used in place.
  virtual Result<std::unique_ptr<Executable>> load(const Artifact& artifact,
                                                   const WeightSource* weights,
                                                   const Progress& progress) = 0;
  virtual Result<std::unique_ptr<KvStore>> make_kv_store(const StateDecl& declaration) = 0;
  // From now on load() keeps weights in the device's own layout in files of `folder`, keyed by what
  // they were made of, and maps them where they are there already. Empty: nothing is kept.
  // Errors: kUnimplemented from a device that keeps none.
  virtual Result<void> keep_packed_weights(const std::string& folder);
};

// The code-generation half: needs no hardware. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  // What a device of this architecture is assumed to do before it is probed.
  virtual Result<Capabilities> default_caps(std::string_view arch) const = 0;
  virtual Support supports(const OpDef& op) const = 0;
  // What this backend runs as one node; by default nothing.
  virtual FusionCaps fusions() const { return {}; }
  // What will run a node of a compiled graph. By default it follows from supports().
  virtual KernelChoice choose_kernel(const Graph& graph, const Node& node,
                                     const Capabilities& capabilities) const;
  // A node that cannot run here, with the reason naming backend, operation, node and types.
  virtual Result<void> legal(const Graph& graph, const Node& node) const = 0;
  virtual Result<std::unique_ptr<Artifact>> compile(const Graph& graph,
                                                    const CompileOptions& options) const = 0;
  // Whether the artifact is this backend's and its graph holds to all rules. Errors:
  // kInvalidArgument for one of another backend, those of verify(), kUnimplemented where the
  // backend cannot tell.
  virtual Result<void> validate(const Artifact& artifact) const = 0;
  // Those present on this machine; an empty list if there is none.
  virtual Result<std::vector<DeviceDescription>> devices() const = 0;
  virtual Result<std::unique_ptr<Device>> open(const DeviceOptions& options) const = 0;
};

// The backends of this build, by exact name; nothing falls back.
class BackendRegistry {
 public:
  void add(std::unique_ptr<Backend> backend);
  // Errors: kNotFound, with the names there are.
  Result<const Backend*> find(std::string_view name) const;
  std::vector<const Backend*> list() const;

 private:
  std::vector<std::unique_ptr<Backend>> backends_;
};

// All backends of this build; the one list of them.
BackendRegistry register_backends();

// Graph to code: passes, placement, precision and legality of each node, code. Needs no device;
// `capabilities` are those of the one that will run it, or Backend::default_caps().
// Errors name the pass or the node: an invalid graph, a float64 node without float64, an operation
// that the backend does not have.
Result<std::unique_ptr<Artifact>> compile_graph(const Graph& graph, const Backend& backend,
                                                const Capabilities& capabilities,
                                                const CompileOptions& options);

// compile_graph(), then the weights onto the device.
Result<std::unique_ptr<Executable>> compile_and_load(const Graph& graph, const Backend& backend,
                                                     Device& device, const WeightSource* weights,
                                                     const CompileOptions& options,
                                                     const Progress& progress = {});

}  // namespace quern
