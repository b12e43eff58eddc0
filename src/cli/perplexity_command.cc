// quern perplexity: how well a model predicts a file.
// The text is cut into chunks that are scored without what stands before them, as is usual.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/progress_bar.h"
#include "cli/text_file.h"
#include "generate/perplexity.h"

namespace quern::cli {
namespace {

// The options of the command.
struct PerplexityFlags {
  EngineFlags engine;
  std::string file;
  int64_t context = 0;  // 0: the default
  bool is_json = false;
};

// The text is read before the model: a wrong path shows at once.
Result<void> perplexity(const PerplexityFlags& flags) {
  QUERN_ASSIGN_OR_RETURN(const std::string text, read_text_file(flags.file));
  QUERN_ASSIGN_OR_RETURN(const auto engine, flags.engine.open(false));
  QUERN_ASSIGN_OR_RETURN(const auto ids, engine->tokenizer().encode(text, {}));
  const int64_t context =
      flags.context > 0 ? flags.context : std::min<int64_t>(512, engine->context_length());
  ProgressBar bar("Scoring");
  QUERN_ASSIGN_OR_RETURN(
      const Perplexity result,
      measure_perplexity(*engine, ids, context,
                         [&](int64_t done, int64_t total) { bar.update(done, total); }));
  bar.finish();
  if (flags.is_json) {
    const nlohmann::json json = {{"perplexity", result.value},
                                 {"uncertainty", result.uncertainty},
                                 {"tokens", ids.size()},
                                 {"scored", result.num_scored},
                                 {"chunks", result.num_chunks},
                                 {"activations", activations_name(engine->model().activations)}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("perplexity {:.4f} +/- {:.4f} ({} tokens, {} scored in {} chunks of {})\n",
               result.value, result.uncertainty, ids.size(), result.num_scored, result.num_chunks,
               context);
  }
  return {};
}

}  // namespace

// --context is the length of a chunk here.
void set_up_perplexity(OptionSet& command, Action& action) {
  auto flags = std::make_shared<PerplexityFlags>();
  flags->engine.add_to(command, false);
  command.add_option("--file", flags->file, "Text to predict").required();
  command
      .add_option("--context", flags->context,
                  "Tokens of a chunk; 0: 512, or what the model was "
                  "trained for where that is less")
      .non_negative()
      .show_default();
  command.add_flag("--json", flags->is_json, "Result as JSON");
  command.footer("Example:\n  quern perplexity model.gguf --file text.txt --context 512");
  action = [flags] { return perplexity(*flags); };
}

}  // namespace quern::cli
