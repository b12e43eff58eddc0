// quern quantize: a model in another format.
// The report has the error of every tensor, measured on what was written.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/fail.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/progress_bar.h"
#include "formats/quantize.h"

namespace quern::cli {
namespace {

// The options of the command.
struct QuantizeFlags {
  std::string input;
  std::string output;
  QuantizeOptions options;
  std::vector<std::string> keep;  // "PATTERN=T"
  bool is_json = false;
};

// "PATTERN=TYPE"; the last '=' separates, since patterns may hold one.
Result<KeepRule> parse_rule(const std::string& text) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) {
    return fail::invalid("'{}' is not of the form PATTERN=TYPE, as in 'attn_v=q8_0'.", text);
  }
  const std::string type = text.substr(at + 1);
  const auto dtype = find_dtype(type);
  if (!dtype) {
    return fail::invalid("'{}' in '{}' is not a format; formats are f16, q8_0, q4_K, ...", type,
                         text);
  }
  return KeepRule{text.substr(0, at), *dtype};
}

// Of 2^20 bytes.
double mebibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

// A line for each tensor with its error, a sum for each format, and the size of the whole.
void print_text(const QuantizeReport& report, const std::string& output) {
  fmt::print("{:<40} {:<18} {:<7} {:<7} {:>10} {:>12} {:>9}\n", "tensor", "shape", "from", "to",
             "MiB", "rmse", "relative");
  std::map<std::string_view, std::pair<int64_t, int64_t>> by_format;  // tensors, bytes
  for (const QuantizedTensor& t : report.tensors) {
    // A copied tensor has no error to show.
    const std::string error = t.from == t.to
                                  ? fmt::format("{:>12} {:>9}", "copied", "")
                                  : fmt::format("{:>12.4e} {:>9.5f}", t.rmse, t.relative);
    fmt::print("{:<40} {:<18} {:<7} {:<7} {:>10.3f} {}\n", t.name, t.shape.to_string(),
               dtype_name(t.from), dtype_name(t.to), mebibytes(t.to_bytes), error);
    auto& [count, bytes] = by_format[dtype_name(t.to)];
    ++count;
    bytes += t.to_bytes;
  }
  fmt::print("\n");
  for (const auto& [name, sums] : by_format) {
    fmt::print("{:<7} {:>4} tensors {:>10.2f} MiB\n", name, sums.first, mebibytes(sums.second));
  }
  for (const std::string& note : report.notes) fmt::print("Note: {}\n", note);
  fmt::print("{}: {}, {:.2f} MiB of weights from {:.2f} MiB, {:.2f} bits per weight\n", output,
             report.type, mebibytes(report.to_bytes), mebibytes(report.from_bytes),
             report.bits_per_weight());
}

// Every tensor with its error.
void print_json(const QuantizeReport& report, const std::string& output) {
  nlohmann::ordered_json json = {{"output", output},
                                 {"type", report.type},
                                 {"elements", report.num_elements},
                                 {"from_bytes", report.from_bytes},
                                 {"to_bytes", report.to_bytes},
                                 {"bits_per_weight", report.bits_per_weight()},
                                 {"notes", report.notes}};
  auto& tensors = json["tensors"] = nlohmann::ordered_json::array();
  for (const QuantizedTensor& t : report.tensors) {
    tensors.push_back({{"name", t.name},
                       {"shape", t.shape.dims()},
                       {"from", dtype_name(t.from)},
                       {"to", dtype_name(t.to)},
                       {"from_bytes", t.from_bytes},
                       {"to_bytes", t.to_bytes},
                       {"rmse", t.rmse},
                       {"relative", t.relative}});
  }
  // Names of tensors come from a file and need not be UTF-8.
  fmt::print("{}\n", json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// Rules are parsed before the file is opened.
Result<void> quantize(QuantizeFlags& flags) {
  for (const std::string& text : flags.keep) {
    QUERN_ASSIGN_OR_RETURN(KeepRule rule, parse_rule(text));
    flags.options.keep.push_back(std::move(rule));
  }
  QUERN_ASSIGN_OR_RETURN(const auto source, GgufFile::open(flags.input));
  ProgressBar bar("Quantising");
  const auto report = quantize_model(*source, flags.output, flags.options,
                                     [&](int64_t done, int64_t total) { bar.update(done, total); });
  bar.finish();
  if (!report) {
    return tl::unexpected(
        report.error().with_context(fmt::format("While quantising '{}'", flags.input)));
  }
  if (flags.is_json) {
    print_json(*report, flags.output);
  } else {
    print_text(*report, flags.output);
  }
  return {};
}

// For the help text.
std::string type_names() {
  std::string names;
  for (const QuantMixture& mixture : quant_mixtures()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", mixture.name);
  }
  return names;
}

}  // namespace

// The list of types in the help is that of the library.
void set_up_quantize(OptionSet& command, Action& action) {
  auto flags = std::make_shared<QuantizeFlags>();
  command.add_option("IN", flags->input, "GGUF file; of a split model, the first part").required();
  command.add_option("OUT", flags->output, "File to write").required();
  command.add_option("--type", flags->options.type, "A format or a mixture: " + type_names())
      .required();
  command
      .add_option("--keep", flags->keep,
                  "PATTERN=FORMAT: the format of matrices whose name matches; * and ? are "
                  "wildcards, text without them matches anywhere. The first that matches decides")
      .repeatable();
  command.add_flag("--pure", flags->options.is_pure,
                   "The base format for every matrix, the head too");
  command.add_option("--threads", flags->options.num_threads, "Threads; 0: all CPUs")
      .range(0, kMaxThreads)
      .show_default();
  command.add_flag("--json", flags->is_json, "Report as JSON");
  command.footer(
      "Examples:\n  quern quantize model-f16.gguf model-q4.gguf --type Q4_K_M\n"
      "  quern quantize m.gguf out.gguf --type q4_0 --keep attn_v=q8_0 --keep 'blk.0.*=f16'");
  action = [flags] { return quantize(*flags); };
}

}  // namespace quern::cli
