// quern explain: where a model or graph runs, why, and what it costs.
// Predictions come from the cost of each node and the roof of the device; --measure puts times
// beside them.
#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device_flags.h"
#include "cli/explain_report.h"
#include "cli/graph_source.h"
#include "cli/node_times.h"

namespace quern::cli {
namespace {

// The options of the command.
struct ExplainFlags {
  EngineFlags engine;
  int64_t tokens = 512;
  int64_t cached_rows = 256;
  std::string phase = "both";
  std::vector<std::string> bindings;
  int64_t repetitions = 10;
  bool is_measured = false;
  bool is_summary = false;
  bool is_json = false;
  std::string html;
  // Sizes that only models have.
  std::vector<std::pair<std::string_view, Option>> model_sizes;
};

// What is compiled once and explained for each phase.
struct Compiled {
  const Backend& backend;
  Device& device;
  const Artifact& artifact;
  // Measured once: two phases are compared with the same roof.
  DeviceRoof roof;
};

// Costs of one size, with the times that were measured for it.
Result<ExplainPhase> explain_phase(const Compiled& compiled, const RunSize& size,
                                   std::span<const double> measured) {
  ExplainPhase phase{
      .name = size.name, .tokens = size.tokens, .cached_rows = size.cached_rows, .explanation = {}};
  const CostContext context{.symbols = size.symbols, .cached_rows = size.cached_rows};
  QUERN_ASSIGN_OR_RETURN(phase.explanation,
                         explain(compiled.artifact, compiled.backend,
                                 compiled.device.capabilities(), compiled.roof, context, measured));
  return phase;
}

// Sizes of a model say nothing of a graph, nor the other way round.
Result<void> check_sizes(const ExplainFlags& flags, const GraphSource& source) {
  if (source.files && !flags.bindings.empty()) {
    return fail::invalid(
        "--bind {} has no effect on a model; --tokens, --cached and --phase give its sizes.",
        flags.bindings[0]);
  }
  for (const auto& [name, option] : flags.model_sizes) {
    if (source.files || !option.is_given()) continue;
    return fail::invalid("{} has no effect on a graph; --bind gives the extents.", name);
  }
  return {};
}

// Decoding and prefill for models; one run for graphs.
Result<std::vector<RunSize>> sizes_of(const ExplainFlags& flags, const GraphSource& source) {
  QUERN_TRY(check_sizes(flags, source));
  std::vector<RunSize> sizes;
  if (!source.files) {
    QUERN_ASSIGN_OR_RETURN(const SymbolValues symbols,
                           bind_symbols(source.graph(), flags.bindings, 1));
    sizes.push_back({.name = "run", .tokens = 0, .cached_rows = 0, .symbols = symbols});
    return sizes;
  }
  const auto add = [&](std::string name, int64_t tokens, int64_t cached_rows) {
    RunSize size{.name = std::move(name), .tokens = tokens, .cached_rows = cached_rows};
    size.symbols.set('T', tokens);
    size.symbols.set('R', 1);
    sizes.push_back(size);
  };
  // The two limits of a language model: memory while it decodes, arithmetic while it reads.
  if (flags.phase != "prefill") add("decode", 1, flags.cached_rows);
  if (flags.phase != "decode") add("prefill", flags.tokens, 0);
  return sizes;
}

// Compiles once; measures only where that is asked for.
Result<ExplainReport> make_report(const ExplainFlags& flags) {
  QUERN_ASSIGN_OR_RETURN(const GraphSource source, open_graph_source(flags.engine));
  QUERN_ASSIGN_OR_RETURN(const auto sizes, sizes_of(flags, source));
  QUERN_ASSIGN_OR_RETURN(const EngineOptions options, flags.engine.options());
  const BackendRegistry backends = register_backends();
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, backends.find(options.device));
  QUERN_ASSIGN_OR_RETURN(const auto device, open_device(*backend, options.device_options));
  QUERN_ASSIGN_OR_RETURN(
      const auto artifact,
      compile_graph(source.graph(), *backend, device->capabilities(), options.compile));
  const Compiled compiled{*backend, *device, *artifact,
                          device->measure_roof().value_or(DeviceRoof{})};
  ExplainReport report{.source = source.description(),
                       .backend = std::string(backend->name()),
                       .arch = device->capabilities().arch,
                       .threads = device->capabilities().num_threads,
                       .numerics = flags.engine.numerics,
                       .is_measured = flags.is_measured,
                       .phases = {}};
  std::unique_ptr<NodeTimes> times;
  if (flags.is_measured && source.files) {
    QUERN_ASSIGN_OR_RETURN(times, NodeTimes::of_model(flags.engine, *artifact, flags.is_json));
  } else if (flags.is_measured) {
    QUERN_ASSIGN_OR_RETURN(times, NodeTimes::of_graph(*artifact, *device));
  }
  for (const RunSize& size : sizes) {
    std::vector<double> measured;
    if (times) {
      QUERN_ASSIGN_OR_RETURN(measured, times->measure(size, flags.repetitions));
    }
    QUERN_ASSIGN_OR_RETURN(ExplainPhase phase, explain_phase(compiled, size, measured));
    report.phases.push_back(std::move(phase));
  }
  return report;
}

// Text or JSON to stdout, the page to its file.
Result<void> explain_command(const ExplainFlags& flags) {
  QUERN_ASSIGN_OR_RETURN(const ExplainReport report, make_report(flags));
  if (!flags.html.empty()) {
    QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(flags.html));
    QUERN_TRY(file.write(html_page(report)));
    QUERN_TRY(file.commit(Durability::kProcess));
    print_status("Wrote {}\n", flags.html);
  }
  // JSON goes with a page, tables do not: the page shows the same.
  if (flags.is_json) {
    fmt::print("{}\n", to_json(report).dump(1));
  } else if (flags.html.empty()) {
    print_report(report, flags.is_summary);
  }
  return {};
}

}  // namespace

// Costs need a roof, so the device is opened even where nothing runs.
void set_up_explain(OptionSet& command, Action& action) {
  auto flags = std::make_shared<ExplainFlags>();
  flags->engine.add_to(command);
  command.describe("MODEL", "GGUF file, manifest (.yaml), or a file with a graph's text");
  const Option phase =
      command
          .add_option("--phase", flags->phase, "Of a model: decode (one token), prefill, or both")
          .one_of({"decode", "prefill", "both"})
          .show_default();
  const Option tokens =
      command.add_option("--tokens", flags->tokens, "Tokens of a model's prompt in prefill")
          .range(1, 1 << 20)
          .show_default();
  const Option cached = command
                            .add_option("--cached", flags->cached_rows,
                                        "Rows in a model's key-value cache before a decoded token")
                            .range(0, 1 << 20)
                            .show_default();
  flags->model_sizes = {{"--phase", phase}, {"--tokens", tokens}, {"--cached", cached}};
  command
      .add_option("--bind", flags->bindings,
                  "SYMBOL=N: an extent of a graph, such as T=4; repeatable")
      .repeatable();
  const Option measure =
      command.add_flag("--measure", flags->is_measured, "Run it and time each node");
  command.add_option("--repetitions", flags->repetitions, "Measured runs; their means are shown")
      .range(1, 100000)
      .needs(measure)
      .show_default();
  command.add_flag("--summary", flags->is_summary, "Sums only, not every node");
  command.add_flag("--json", flags->is_json, "Report as JSON");
  command.add_option("--html", flags->html, "Write a page for a browser to this file");
  command.footer("Example: quern explain model.gguf --measure --html model.html");
  action = [flags] { return explain_command(*flags); };
}

}  // namespace quern::cli
