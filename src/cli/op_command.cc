// quern op: one operation on .npy and .safetensors files.
// An operation becomes a graph of one node, which runs like any other.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/fail.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_flags.h"
#include "cli/isa_flag.h"
#include "cli/output_paths.h"
#include "cli/tensor_files.h"
#include "conformance/host_values.h"
#include "conformance/inventory.h"
#include "conformance/one_op.h"
#include "conformance/op_arguments.h"

namespace quern::cli {
namespace {

// The options of the command.
struct OpFlags {
  std::string id;
  std::vector<std::string> attributes;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string device = "cpu";
  std::string dtype;
  int threads = 0;
  std::string isa;
  bool is_help = false;
};

// Up to five ids that contain the last part of `id`: perhaps only the family was mistyped.
std::string similar_ids(std::string_view id) {
  const size_t dot = id.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? id : id.substr(dot + 1);
  std::string text;
  int count = 0;
  for (const OpDef* op : builtin_ops().list()) {
    const bool is_similar = !name.empty() && op->id.find(name) != std::string::npos;
    if (is_similar && ++count <= 5) text += (text.empty() ? "" : ", ") + op->id;
  }
  return text.empty() ? "'quern ops' lists all of them" : "did you mean " + text + "?";
}

// Errors suggest operations with a similar name.
Result<const OpDef*> find_op(const std::string& id) {
  const OpDef* op = builtin_ops().find(id);
  if (op != nullptr) return op;
  const std::string hint = similar_ids(id);
  return fail::not_found("There is no operation '{}'; {}", id,
                         hint.back() == '?' ? hint : hint + ".");
}

// Operations that mean something only inside a larger graph.
Result<void> check_runs_alone(const OpDef& op) {
  // Inputs, weights and outputs of graphs: they compute nothing.
  if (op.reference == nullptr) {
    return fail::invalid("{} binds a value of a graph; there is nothing to run.", op.id);
  }
  if (op.find_attribute("state") != nullptr) {
    return fail::invalid("{} works on a key-value state, which 'quern op' does not have.", op.id);
  }
  return {};
}

// By port; ports that are absent and optional stay empty.
Result<std::vector<Tensor>> read_inputs(const std::vector<PortValue>& files,
                                        const std::string& dtype) {
  std::vector<Tensor> inputs;
  for (const PortValue& file : files) {
    auto tensor = read_tensor_file(file.text, file.name);
    if (!tensor) {
      return tl::unexpected(tensor.error().with_context(fmt::format("Input '{}'", file.name)));
    }
    // Ports come in ascending order, so this only grows.
    inputs.resize(file.port + 1);
    inputs[file.port] = std::move(*tensor);
    // Index inputs keep their type: in_precision() changes floats only.
    if (dtype.empty()) continue;
    QUERN_ASSIGN_OR_RETURN(inputs[file.port], in_precision(inputs[file.port], *find_dtype(dtype)));
  }
  return inputs;
}

// Some results have no input to take their precision from.
void set_precision(const OpDef& op, const std::string& dtype, Attributes& attributes) {
  const bool is_open = op.find_attribute("dtype") != nullptr && attributes.find("dtype") == nullptr;
  if (is_open && !dtype.empty()) attributes.set("dtype", dtype);
}

// --dtype changes floats and complex numbers only, and results that are free.
Result<void> check_precision(const OpFlags& flags, const OpDef& op,
                             const std::vector<Tensor>& inputs) {
  const bool has_floats = std::ranges::any_of(inputs, [](const Tensor& input) {
    return !input.is_empty() && (is_float(input.dtype()) || is_complex(input.dtype()));
  });
  if (flags.dtype.empty() || has_floats || op.find_attribute("dtype") != nullptr) return {};
  return fail::invalid("--dtype {} has no effect on {}: none of its inputs has floats.",
                       flags.dtype, op.id);
}

// Elements of a result that is printed.
constexpr size_t kMostPrinted = 64;

// NAME: type[shape] = [values].
Result<void> print_result(const std::string& name, const Tensor& tensor) {
  QUERN_ASSIGN_OR_RETURN(const auto values, element_texts(tensor, kMostPrinted));
  const auto total = static_cast<size_t>(num_numbers(tensor));
  fmt::print("{}: {} = [{}{}]\n", name, type_of(tensor).to_string(), fmt::join(values, ", "),
             total > kMostPrinted ? fmt::format(", ... {} more", total - kMostPrinted) : "");
  return {};
}

// To the files that were asked for; without any, all results are printed.
Result<void> write_results(const OpDef& op, const RunResult& result,
                           const std::vector<PortValue>& files) {
  for (const PortValue& file : files) {
    const std::string& name = op.outputs[file.port].name;
    const auto written = write_tensor_file(file.text, name, *result.find(name));
    if (!written) {
      return tl::unexpected(written.error().with_context(fmt::format("Output '{}'", name)));
    }
  }
  if (!files.empty()) return {};
  for (const auto& [name, tensor] : result.values) QUERN_TRY(print_result(name, tensor));
  return {};
}

// Two outputs in one file would leave one of them; a name that is of no format would mislead.
Result<void> check_output_files(const std::vector<PortValue>& files) {
  std::vector<std::string> paths;
  for (const PortValue& file : files) {
    QUERN_TRY(check_tensor_path(file.text, fmt::format("--output {}", file.name)));
    paths.push_back(file.text);
  }
  return check_distinct(paths);
}

// Through a graph of one node: there is one way to run anything.
Result<void> run(const OpFlags& flags) {
  QUERN_ASSIGN_OR_RETURN(const OpDef* op, find_op(flags.id));
  QUERN_TRY(check_runs_alone(*op));
  QUERN_ASSIGN_OR_RETURN(Attributes attributes, parse_attributes(*op, flags.attributes));
  set_precision(*op, flags.dtype, attributes);
  QUERN_ASSIGN_OR_RETURN(const auto input_files, bind_inputs(*op, attributes, flags.inputs));
  QUERN_ASSIGN_OR_RETURN(const auto output_files, bind_outputs(*op, flags.outputs));
  QUERN_TRY(check_output_files(output_files));
  const BackendRegistry registry = register_backends();
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, registry.find(flags.device));
  QUERN_ASSIGN_OR_RETURN(const auto inputs, read_inputs(input_files, flags.dtype));
  QUERN_TRY(check_precision(flags, *op, inputs));
  QUERN_ASSIGN_OR_RETURN(const Graph graph,
                         one_op_graph(builtin_ops(), flags.id, inputs, attributes));
  QUERN_ASSIGN_OR_RETURN(const auto device,
                         open_device(*backend, {.num_threads = flags.threads, .isa = flags.isa}));
  QUERN_ASSIGN_OR_RETURN(const RunResult result,
                         run_one_op(*backend, *device, graph, one_op_arguments(inputs)));
  return write_results(*op, result, output_files);
}

// The help of one operation is its page of the reference.
Result<void> op_command(const OpFlags& flags, const OptionSet& command) {
  if (!flags.is_help) {
    if (flags.id.empty()) {
      return fail::invalid("'quern op' needs the id of an operation; 'quern ops' lists them.");
    }
    return run(flags);
  }
  fmt::print("{}", command.help_text());
  if (flags.id.empty()) return {};
  QUERN_ASSIGN_OR_RETURN(const OpDef* op, find_op(flags.id));
  fmt::print("\n{}", op_page(*op));
  return {};
}

}  // namespace

// --help depends on the operation, so the command prints it itself.
void set_up_op(OptionSet& command, Action& action) {
  auto flags = std::make_shared<OpFlags>();
  command.add_help_flag(flags->is_help, "Ports, attributes, rules and doc of the operation");
  command.add_option("ID", flags->id, "The operation; see 'quern ops'");
  command.add_option("--attr", flags->attributes, "Attribute NAME=VALUE; repeatable").repeatable();
  command.add_option("--input", flags->inputs, "Input PORT=FILE (.npy or .safetensors); repeatable")
      .repeatable();
  command
      .add_option(
          "--output", flags->outputs,
          "Output PORT=FILE (.npy or .safetensors); repeatable. Without any, results are printed")
      .repeatable();
  command.add_option("--device", flags->device, "Backend that runs it; see 'quern devices'")
      .show_default();
  command
      .add_option(
          "--dtype", flags->dtype,
          "Converts float inputs, and the result where it is free; default: as in the files")
      .one_of({"f64", "f32", "f16", "bf16"});
  command.add_option("--threads", flags->threads, "Threads; 0 takes what the machine offers")
      .range(0, kMaxThreads);
  command.add_option("--isa", flags->isa, kIsaHelp);
  command.footer(
      "Example: quern op math.softmax --input x=logits.npy --output y=probabilities.npy\n"
      "         quern op activation.leaky_relu --attr alpha=0.1 --input x=x.npy --dtype f32");
  action = [flags, command] { return op_command(*flags, command); };
}

}  // namespace quern::cli
