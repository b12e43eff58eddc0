// quern compile: what each pass makes of a graph, and where its values will live.
// Nothing is loaded or run: passes, fused nodes and the memory plan are facts of the graph and the
// options.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/compile_report.h"
#include "cli/graph_source.h"
#include "passes/pipeline.h"

namespace quern::cli {
namespace {

// The options of the command.
struct CompileFlags {
  EngineFlags engine;
  std::vector<std::string> print_before;
  std::vector<std::string> print_after;
  // SYMBOL=N.
  std::vector<std::string> bindings;
  int64_t tokens = 512;
  bool has_plan = false;
  bool has_ir = false;
  bool is_json = false;
};

// "all" is every pass.
bool asks_for(const std::vector<std::string>& names, std::string_view pass) {
  return std::ranges::find(names, pass) != names.end() ||
         std::ranges::find(names, "all") != names.end();
}

// A misspelt pass would print nothing, in silence.
Result<void> check_pass_names(const std::vector<std::string>& names) {
  // "all" is no pass, so select_passes() would refuse it.
  std::vector<std::string> wanted;
  for (const std::string& name : names) {
    if (name != "all") wanted.push_back(name);
  }
  const auto found = select_passes(default_pipeline(), {.only = wanted, .off = {}});
  return found ? Result<void>{} : tl::unexpected(found.error());
}

// Sizes that are worth a look: one decoded token and a prompt, or what was asked for.
Result<std::vector<MemoryPhase>> phases_of(const CompileFlags& flags, bool has_tokens,
                                           const GraphSource& source) {
  std::vector<MemoryPhase> phases;
  // Unbound symbols are 1. Only a model has phases; other graphs know nothing of tokens.
  if (!source.files || !flags.bindings.empty()) {
    if (has_tokens) {
      return fail::invalid("--tokens has no effect {}; --bind gives the extents.",
                           source.files ? "beside --bind" : "on a graph");
    }
    QUERN_ASSIGN_OR_RETURN(const SymbolValues symbols,
                           bind_symbols(source.graph(), flags.bindings, 1));
    phases.push_back({"run", symbols});
    return phases;
  }
  for (const int64_t tokens : {int64_t{1}, flags.tokens}) {
    SymbolValues symbols;
    symbols.set('T', tokens);
    // Logits of the last token alone, as generation asks for them.
    symbols.set('R', 1);
    phases.push_back({tokens == 1 ? "decode" : "prefill", symbols});
  }
  return phases;
}

// Nothing runs: a device of the backend's usual kind is assumed.
Result<void> compile(const CompileFlags& flags, bool has_tokens) {
  QUERN_TRY(check_pass_names(flags.print_before));
  QUERN_TRY(check_pass_names(flags.print_after));
  QUERN_ASSIGN_OR_RETURN(const GraphSource source, open_graph_source(flags.engine));
  QUERN_ASSIGN_OR_RETURN(const auto phases, phases_of(flags, has_tokens, source));
  QUERN_ASSIGN_OR_RETURN(EngineOptions options, flags.engine.options());
  const BackendRegistry backends = register_backends();
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, backends.find(options.device));
  QUERN_ASSIGN_OR_RETURN(const Capabilities capabilities,
                         backend->default_caps(options.device_options.isa));
  if (flags.engine.threads != 0) {
    return fail::invalid("--threads {} has no effect on 'quern compile', which runs nothing.",
                         flags.engine.threads);
  }
  const std::string& isa = options.device_options.isa;
  if (!isa.empty() && isa != capabilities.arch) {
    return fail::invalid("--isa {} has no effect on device {}, which always runs as {}.", isa,
                         backend->name(), capabilities.arch);
  }
  CompileReport report{.source = source.description(),
                       .backend = std::string(backend->name()),
                       .arch = capabilities.arch,
                       .numerics = flags.engine.numerics,
                       .nodes_before = source.graph().nodes().size()};
  // Called within compile_graph(), so the reports are in the order of the passes.
  options.compile.observer = [&](const PassTrace& trace) {
    report.passes.push_back(report_pass(trace, asks_for(flags.print_before, trace.pass),
                                        asks_for(flags.print_after, trace.pass)));
  };
  QUERN_ASSIGN_OR_RETURN(const auto artifact,
                         compile_graph(source.graph(), *backend, capabilities, options.compile));
  report.fused = report_fused(artifact->graph());
  report.nodes_after = artifact->graph().nodes().size();
  if (flags.has_ir) report.ir = print_graph(artifact->graph());
  QUERN_ASSIGN_OR_RETURN(report.memory, report_memory(*artifact, phases));
  if (flags.is_json) {
    fmt::print("{}\n", to_json(report).dump(1));
  } else {
    print_report(report, flags.has_plan);
  }
  return {};
}

}  // namespace

// The model's options change the graph, so all of them are here.
void set_up_compile(OptionSet& command, Action& action) {
  auto flags = std::make_shared<CompileFlags>();
  flags->engine.add_to(command);
  command.describe("MODEL", "GGUF file, manifest (.yaml), or a file with a graph's text");
  command
      .add_option("--print-before", flags->print_before,
                  "Print the IR before this pass ('all': before each); repeatable")
      .repeatable();
  command.add_option("--print-after", flags->print_after, "The same after it").repeatable();
  command.add_flag("--ir", flags->has_ir, "Print the IR that runs");
  command.add_flag("--plan", flags->has_plan, "Print where each value lives");
  const Option tokens = command
                            .add_option("--tokens", flags->tokens,
                                        "Tokens of a prompt, for the sizes of a model's plan")
                            .range(1, 1 << 24)
                            .show_default();
  command
      .add_option("--bind", flags->bindings,
                  "SYMBOL=N: an extent for the sizes, such as T=4; repeatable")
      .repeatable();
  command.add_flag("--json", flags->is_json, "Report as JSON");
  command.footer("Example: quern compile model.gguf --print-after fuse_products --plan");
  action = [flags, tokens] { return compile(*flags, tokens.is_given()); };
}

}  // namespace quern::cli
