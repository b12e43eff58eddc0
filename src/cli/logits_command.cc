// quern logits: f32 [tokens, vocabulary] as .npy, fed N tokens at a time.
// Made for comparisons with other engines: every row, in full precision.
#include <charconv>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/tensor_files.h"
#include "cli/token_list.h"
#include "formats/npy.h"

namespace quern::cli {
namespace {

// The options of the command.
struct LogitsFlags {
  EngineFlags engine;
  std::string prompt;
  std::string tokens;
  std::string output;
  int64_t chunk = 0;
};

// All rows at once in memory: for comparisons with other engines, on short prompts.
Result<void> logits(const LogitsFlags& flags, bool has_prompt) {
  QUERN_TRY(check_tensor_path(flags.output, "--output", true));
  QUERN_ASSIGN_OR_RETURN(const auto engine, flags.engine.open(false));
  std::vector<int32_t> ids;
  if (has_prompt) {
    QUERN_ASSIGN_OR_RETURN(ids, engine->tokenizer().encode(flags.prompt, {}));
  } else {
    QUERN_ASSIGN_OR_RETURN(ids, parse_token_list(flags.tokens));
  }
  if (ids.empty()) return fail::invalid("There are no tokens to feed.");
  QUERN_ASSIGN_OR_RETURN(const int32_t sequence, engine->kv().create_sequence());
  const auto count = static_cast<int64_t>(ids.size());
  if (flags.engine.context == 0) {
    // No context was asked for, so the prompt decides, even past what the model was trained for.
    engine->allow_context(count);
  } else if (count > flags.engine.context) {
    return fail::invalid("There are {} tokens to feed; --context allows {}.", count,
                         flags.engine.context);
  }
  const int64_t chunk = flags.chunk == 0 ? count : flags.chunk;
  QUERN_ASSIGN_OR_RETURN(const Tensor rows,
                         engine->forward_chunked({sequence, ids, Feed::Logits::kAll}, chunk));
  return write_npy(flags.output, rows);
}

}  // namespace

// The prompt comes as text or as tokens.
void set_up_logits(OptionSet& command, Action& action) {
  auto flags = std::make_shared<LogitsFlags>();
  flags->engine.add_to(command);
  OptionSet input = command.add_choice("input", "What to feed");
  const Option prompt =
      input.add_option("--prompt", flags->prompt, "Text, with the model's begin token");
  input.add_option("--tokens", flags->tokens, "Token ids: 1,2,3");
  command.add_option("--output", flags->output, ".npy file for f32 [tokens, vocabulary]")
      .required();
  command.add_option("--chunk", flags->chunk, "Tokens fed at a time; 0: all")
      .non_negative()
      .show_default();
  command.footer("Example:\n  quern logits model.gguf --tokens 1,15,27 --output logits.npy");
  action = [flags, prompt] { return logits(*flags, prompt.is_given()); };
}

}  // namespace quern::cli
