// quern verify: a model on two devices, node by node.
// The first node that differs is where the fault is; its inputs can be saved and run again alone.
#include <fmt/format.h>

#include "base/fail.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_flags.h"
#include "cli/engine_flags.h"
#include "cli/progress_bar.h"
#include "cli/token_list.h"
#include "generate/replay.h"
#include "generate/verify_model.h"
#include "quern/op.h"

namespace quern::cli {
namespace {

// The options of the command.
struct VerifyFlags {
  EngineFlags engine;
  std::string against = "reference";
  int against_threads = 0;
  std::string against_isa;
  std::string prompt = "The mill grinds slowly, but it grinds fine.";
  std::string tokens;
  std::optional<double> tolerance;
  std::string save_folder;
};

// --tokens where it is given, else those of the prompt. An empty list compares nothing.
Result<std::vector<int32_t>> tokens_of(const VerifyFlags& flags, bool has_tokens,
                                       const ModelFiles& files) {
  if (!has_tokens) {
    QUERN_ASSIGN_OR_RETURN(auto ids, files.tokenizer->encode(flags.prompt, {}));
    if (!ids.empty()) return ids;
    return fail::invalid("--prompt '{}' has no tokens; verify needs at least one.", flags.prompt);
  }
  QUERN_ASSIGN_OR_RETURN(auto ids, parse_token_list(flags.tokens));
  if (!ids.empty()) return ids;
  return fail::invalid("--tokens '{}' holds no token id; verify needs at least one.", flags.tokens);
}

// Exit code 1 where the devices differ; the error names the node.
Result<void> verify(const VerifyFlags& flags, bool has_tokens) {
  QUERN_ASSIGN_OR_RETURN(const ModelFiles files, flags.engine.open_files());
  QUERN_ASSIGN_OR_RETURN(const auto tokens, tokens_of(flags, has_tokens, files));
  if (flags.engine.skips_parity_gate) {
    return fail::invalid("--no-parity-gate has no effect on 'quern verify', which has no gate.");
  }
  VerifyOptions options;
  options.pack_cache = flags.engine.pack_cache;
  options.device = flags.engine.device;
  options.device_options = {flags.engine.threads, flags.engine.isa};
  options.against = flags.against;
  options.against_options = {flags.against_threads, flags.against_isa};
  const BackendRegistry backends = register_backends();
  QUERN_TRY(check_device_options(backends, options.device, options.device_options));
  QUERN_TRY(check_device_options(backends, options.against, options.against_options, "--against-"));
  options.numerics = *find_numerics(flags.engine.numerics);
  options.tolerance = flags.tolerance;
  ProgressBar bar("Comparing");
  options.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
  QUERN_ASSIGN_OR_RETURN(const VerifyReport report, verify_model(files, tokens, backends, options));
  bar.finish();
  const GraphComparison& comparison = report.comparison;
  const std::string rule =
      // Chosen by verify_model() where the option is absent.
      report.tolerance == 0 ? "the same bits"
                            : fmt::format("within {:.3g} of the largest value", report.tolerance);
  if (!comparison.first) {
    fmt::print("{} and {} agree: {} values of {} nodes, {} and {}, all {}.\n", flags.engine.device,
               flags.against, comparison.num_values, files.model.graph.nodes().size(),
               report.run_names[0], report.run_names[1], rule);
    return {};
  }
  const std::string text =
      describe_divergence(files.model.graph, comparison, flags.engine.device, flags.against);
  fmt::print("{} and {} differ in the {}: {} of {} values are not {}.\n{}\n", flags.engine.device,
             flags.against, report.run_names[comparison.first->run], comparison.num_divergent,
             comparison.num_values, rule, text);
  // Before the error: a failed check is what the folder is for.
  if (!flags.save_folder.empty()) {
    const AdaptedWeights weights = files.weights();
    QUERN_TRY(save_replay(flags.save_folder, files.model.graph, comparison, &weights,
                          flags.engine.device, text));
    fmt::print("Its inputs and a manifest that repeats it are in '{}'.\n", flags.save_folder);
  }
  return fail::precondition("Device {} diverges from {} at node '{}' ({}).", flags.engine.device,
                            flags.against, files.model.graph.node(comparison.first->node).name,
                            files.model.graph.node(comparison.first->node).op->id);
}

}  // namespace

// Both devices have options of their own.
void set_up_verify(OptionSet& command, Action& action) {
  auto flags = std::make_shared<VerifyFlags>();
  flags->engine.add_to(command, false);
  command.add_option("--against", flags->against, "Backend that is believed").show_default();
  command.add_option("--against-threads", flags->against_threads, "Its threads")
      .range(0, kMaxThreads);
  command.add_option("--against-isa", flags->against_isa, "Its cap on the instruction set");
  const Option prompt =
      command.add_option("--prompt", flags->prompt, "Text whose tokens are fed").show_default();
  const Option tokens =
      command.add_option("--tokens", flags->tokens, "Token ids instead of a text: 1,2,3")
          .excludes(prompt);
  command
      .add_option("--tolerance", flags->tolerance,
                  "Largest error of a value, as a share of its tensor's largest; default: 0 where "
                  "both devices promise the same bits, else 0.001")
      .non_negative();
  command.add_option("--save", flags->save_folder,
                     "Folder for the inputs of the first node that differs, to run it again");
  command.footer(
      "Examples:\n"
      "  quern verify model.gguf --device cpu --against reference\n"
      "  quern verify model.gguf --device cpu --isa avx2 --save replay");
  action = [flags, tokens] { return verify(*flags, tokens.is_given()); };
}

}  // namespace quern::cli
