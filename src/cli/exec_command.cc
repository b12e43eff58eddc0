// quern exec: runs a graph that is written as a manifest.
// The graph is compiled as any model is; inputs and outputs are files of NumPy or safetensors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/fail.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_flags.h"
#include "cli/output_paths.h"
#include "cli/pass_flags.h"
#include "cli/tensor_files.h"
#include "formats/manifest/manifest.h"
#include "formats/safetensors.h"
#include "formats/weight_files.h"
#include "quern/device.h"
#include "quern/op.h"

namespace quern::cli {
namespace {

// The options of the command.
struct ExecFlags {
  std::string manifest;
  std::vector<std::string> inputs;  // NAME=FILE
  // Without any the values are only described.
  std::vector<std::string> outputs;  // NAME=FILE
  std::string inputs_file;           // .safetensors with inputs by name
  std::string outputs_file;          // .safetensors for all outputs
  std::vector<std::string> weights;
  std::vector<std::string> variables;  // a.b=VALUE
  std::string device = "cpu";
  int threads = 0;
  std::string isa;
  std::string numerics = "strict";
  uint32_t stream = 0;
  PassFlags passes;
  bool is_quiet = false;
};

// --set NAME=VALUE, as the manifest's variables.
Result<ManifestOptions> manifest_options(const ExecFlags& flags) {
  ManifestOptions options;
  for (const std::string& text : flags.variables) {
    QUERN_ASSIGN_OR_RETURN(auto parts, split_assignment(text, "--set"));
    options.variables.insert_or_assign(std::move(parts.first), std::move(parts.second));
  }
  return options;
}

// The graph's inputs that the file of all inputs holds, then those given one by one.
Result<RunArguments> read_inputs(const ExecFlags& flags, const Graph& graph) {
  RunArguments arguments;
  arguments.stream = flags.stream;
  if (!flags.inputs_file.empty()) {
    QUERN_ASSIGN_OR_RETURN(const auto file, SafetensorsFile::open(flags.inputs_file));
    for (const NodeId id : graph.inputs()) {
      const std::string& name = graph.node(id).name;
      // A missing input may still come from --input; running says so otherwise.
      auto tensor = file->weight(name);
      if (tensor) arguments.inputs.insert_or_assign(name, std::move(*tensor));
    }
  }
  for (const std::string& text : flags.inputs) {
    QUERN_ASSIGN_OR_RETURN(const auto parts, split_assignment(text, "--input"));
    QUERN_ASSIGN_OR_RETURN(Tensor tensor, read_tensor_file(parts.second, parts.first));
    // One given by itself wins over the file of all.
    arguments.inputs.insert_or_assign(parts.first, std::move(tensor));
  }
  return arguments;
}

// A fresh store with one sequence, 0, for each state; it has room for what one run may append.
Result<std::map<std::string, std::unique_ptr<KvStore>>> make_states(const Graph& graph,
                                                                    Device& device,
                                                                    RunArguments& arguments) {
  std::map<std::string, std::unique_ptr<KvStore>> stores;
  int64_t num_rows = 0;
  for (const auto& [name, tensor] : arguments.inputs) {
    if (tensor.shape().rank() > 0) num_rows = std::max(num_rows, tensor.shape()[0]);
  }
  for (const StateDecl& state : graph.states()) {
    QUERN_ASSIGN_OR_RETURN(auto store, device.make_kv_store(state));
    QUERN_ASSIGN_OR_RETURN(const int32_t sequence, store->create_sequence());
    QUERN_TRY(store->reserve(sequence, num_rows));
    arguments.states[state.name] = store.get();
    stores.emplace(state.name, std::move(store));
  }
  return stores;
}

// Before the run, whose results would be lost.
Result<void> check_output_names(const ExecFlags& flags, const Graph& graph) {
  for (const std::string& text : flags.outputs) {
    QUERN_ASSIGN_OR_RETURN(const auto parts, split_assignment(text, "--output"));
    std::vector<std::string_view> names;
    for (const GraphOutput& output : graph.outputs()) names.push_back(output.name);
    if (std::ranges::find(names, parts.first) != names.end()) continue;
    return fail::not_found("The graph has no output '{}'; it has {}.", parts.first,
                           names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  return {};
}

// Their names are outputs of the graph.
Result<void> write_outputs(const ExecFlags& flags, const RunResult& result) {
  for (const std::string& text : flags.outputs) {
    QUERN_ASSIGN_OR_RETURN(const auto parts, split_assignment(text, "--output"));
    QUERN_TRY(write_tensor_file(parts.second, parts.first, *result.find(parts.first)));
  }
  if (flags.outputs_file.empty()) return {};
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : result.values) tensors.push_back({name, tensor, false});
  return write_safetensors(flags.outputs_file, tensors);
}

// A name that is given twice: one of the two would be lost in silence.
Result<void> check_names_once(const std::vector<std::string>& assignments, const char* option) {
  std::set<std::string> names;
  for (const std::string& text : assignments) {
    QUERN_ASSIGN_OR_RETURN(const auto parts, split_assignment(text, option));
    if (names.insert(parts.first).second) continue;
    return fail::invalid("{} {} is given twice.", option, parts.first);
  }
  return {};
}

// Before anything is read or run.
Result<void> check_output_files(const ExecFlags& flags) {
  QUERN_TRY(check_names_once(flags.outputs, "--output"));
  QUERN_TRY(check_names_once(flags.inputs, "--input"));
  QUERN_TRY(check_names_once(flags.variables, "--set"));
  std::vector<std::string> files = {flags.outputs_file};
  for (const std::string& text : flags.outputs) {
    QUERN_ASSIGN_OR_RETURN(const auto parts, split_assignment(text, "--output"));
    QUERN_TRY(check_tensor_path(parts.second, fmt::format("--output {}", parts.first)));
    files.push_back(parts.second);
  }
  QUERN_TRY(check_distinct(files));
  if (flags.outputs_file.empty() || flags.outputs_file.ends_with(".safetensors")) return {};
  return fail::invalid(
      "--outputs: '{}' does not end in .safetensors, which is what it is written "
      "as.",
      flags.outputs_file);
}

// Those of the manifest are errors at its line that names them.
Result<std::unique_ptr<WeightSource>> open_weights(const ExecFlags& flags,
                                                   const Manifest& manifest) {
  if (!flags.weights.empty()) return open_weight_files(flags.weights);
  auto weights = open_weight_files(manifest.weight_files);
  if (weights) return weights;
  return tl::unexpected(weights.error().with_context(manifest.places.weight_files.to_string()));
}

// Compile, read, run, write, describe.
Result<void> run_manifest(const ExecFlags& flags, const Manifest& manifest) {
  QUERN_TRY(check_output_names(flags, manifest.graph));
  QUERN_ASSIGN_OR_RETURN(const auto weights, open_weights(flags, manifest));
  const BackendRegistry registry = register_backends();
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, registry.find(flags.device));
  QUERN_ASSIGN_OR_RETURN(const auto device, open_device(*backend, {flags.threads, flags.isa}));
  CompileOptions compile;
  compile.numerics = *find_numerics(flags.numerics);
  QUERN_TRY(flags.passes.apply(compile));
  QUERN_ASSIGN_OR_RETURN(const auto executable, compile_and_load(manifest.graph, *backend, *device,
                                                                 weights.get(), compile));
  QUERN_ASSIGN_OR_RETURN(RunArguments arguments, read_inputs(flags, manifest.graph));
  QUERN_ASSIGN_OR_RETURN(const auto states, make_states(manifest.graph, *device, arguments));
  QUERN_ASSIGN_OR_RETURN(const RunResult result, executable->run(arguments));
  QUERN_TRY(write_outputs(flags, result));
  if (flags.is_quiet) return {};
  for (const auto& [name, tensor] : result.values) {
    QUERN_ASSIGN_OR_RETURN(const std::string text, describe_tensor(tensor));
    fmt::print("{}: {}\n", name, text);
  }
  return {};
}

// Every error of what the manifest declares has its line, whenever it comes up.
Result<void> exec(const ExecFlags& flags) {
  QUERN_TRY(check_output_files(flags));
  QUERN_ASSIGN_OR_RETURN(const ManifestOptions options, manifest_options(flags));
  QUERN_ASSIGN_OR_RETURN(const Manifest manifest,
                         read_manifest(flags.manifest, builtin_ops(), options));
  const auto done = run_manifest(flags, manifest);
  if (done) return {};
  return tl::unexpected(at_declaration(manifest.places, manifest.graph, done.error()));
}

// An option that may be given more than once.
void add_list(OptionSet& command, const char* name, std::vector<std::string>& list,
              const char* help) {
  command.add_option(name, list, help).repeatable();
}

}  // namespace

// Inputs and outputs come one by one or all in one file.
void set_up_exec(OptionSet& command, Action& action) {
  auto flags = std::make_shared<ExecFlags>();
  command.add_option("MANIFEST", flags->manifest, "Graph in YAML; see docs/manifest.md").required();
  flags->passes.add_to(command);
  add_list(command, "--input", flags->inputs,
           "NAME=FILE: an input from .npy, or from the tensor NAME of .safetensors; repeatable");
  command.add_option("--inputs", flags->inputs_file, "Inputs by name from one .safetensors file");
  add_list(command, "--output", flags->outputs,
           "NAME=FILE: where an output goes, .npy or .safetensors; repeatable");
  command.add_option("--outputs", flags->outputs_file, "All outputs in one .safetensors file");
  add_list(command, "--weights", flags->weights,
           "GGUF or safetensors file with weights; repeatable. Default: the manifest's");
  add_list(command, "--set", flags->variables,
           "NAME=VALUE: another value of a variable; repeatable");
  command.add_option("--device", flags->device, "Backend that runs the graph; see 'quern devices'")
      .show_default();
  command.add_option("--threads", flags->threads, "Threads; 0 takes what the machine offers")
      .range(0, kMaxThreads)
      .show_default();
  command.add_option("--isa", flags->isa, "Cap on the instruction set, as in 'quern run'");
  command.add_option("--numerics", flags->numerics, "As in 'quern run'")
      .one_of({"strict", "deterministic", "fast"})
      .show_default();
  command.add_option("--stream", flags->stream, "Step counter of random operations").show_default();
  command.add_flag("--quiet", flags->is_quiet, "Do not describe the outputs");
  command.footer(
      "Examples:\n"
      "  quern exec mlp.yaml --input x=x.npy --output y=y.npy\n"
      "  quern exec mlp.yaml --inputs in.safetensors --outputs out.safetensors --set layers=4");
  action = [flags] { return exec(*flags); };
}

}  // namespace quern::cli
