// quern run: a prompt in, text out.
// The order is that of mistakes: flags, then files, then the model, then the prompt.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/output_paths.h"
#include "cli/sampler_flags.h"
#include "cli/token_list.h"
#include "generate/generate.h"
#include "generate/prompt_cache.h"
#include "generate/receipt.h"
#include "generate/sequence_file.h"
#include "text/chat_template.h"
#include "text/utf8.h"

namespace quern::cli {
namespace {

// The options of the command.
struct RunFlags {
  EngineFlags engine;
  std::string prompt;
  bool is_chat = false;
  std::string system;
  GenerateOptions generate;
  SamplerFlags sampler;
  std::string prompt_cache;
  bool shows_prompt = false;
  bool is_json = false;
  bool is_quiet = false;
  std::string receipt;
};

// An explicit number of tokens is honoured beyond the length that the model was trained for, but
// not beyond an explicit context.
void extend_context(Engine& engine, const RunFlags& flags, size_t num_prompt) {
  const int64_t wanted =
      // A negative number of tokens, "until the model ends", asks for no length.
      static_cast<int64_t>(num_prompt) + std::max<int64_t>(flags.generate.max_tokens, 0);
  const bool is_limited = flags.engine.context > 0 || engine.model().position_limit > 0;
  if (is_limited || flags.generate.max_tokens < 0 || wanted <= engine.context_length()) return;
  if (!flags.is_quiet) {
    print_status(
        "The model was trained for {} tokens; up to {} are asked for, and the end "
        "may be poor.\n",
        engine.context_length(), wanted);
  }
  engine.allow_context(wanted);
}

// PROMPT, or standard input when it is a pipe; neither gives the empty prompt.
std::string read_prompt(const RunFlags& flags, bool has_prompt) {
  if (has_prompt || ::isatty(STDIN_FILENO) == 1) return flags.prompt;
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  // The newline that echo adds is no part of a prompt.
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The prompt as tokens, through the chat template where that is asked for; at least one token.
Result<std::vector<int32_t>> encode_prompt(const Engine& engine, const RunFlags& flags,
                                           const std::string& prompt) {
  const Tokenizer& tokenizer = engine.tokenizer();
  EncodeOptions options;
  std::string text = prompt;
  if (flags.is_chat) {
    std::vector<ChatMessage> messages;
    if (!flags.system.empty()) messages.push_back({"system", flags.system});
    messages.push_back({"user", prompt});
    QUERN_ASSIGN_OR_RETURN(const std::string_view source,
                           engine.metadata().text("tokenizer.chat_template"));
    QUERN_ASSIGN_OR_RETURN(text, render_chat_template(source, tokenizer, messages, true));
    // The template writes its turns with control tokens.
    options.parse_special = true;
    // Templates write the begin token themselves where they want one.
    options.add_special = false;
  }
  QUERN_ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer.encode(text, options));
  if (ids.empty()) {
    const int32_t bos = tokenizer.special_ids().bos;
    if (bos == kNoToken)
      return fail::invalid("The prompt is empty and the model has no begin token.");
    ids.push_back(bos);
  }
  return ids;
}

// 0 for a time too short to measure.
double per_second(double count, double seconds) {
  return seconds > 0 ? count / seconds : 0;
}

// The first token comes out of the prefill, so decode counts from the second.
double decode_rate(const Generation& result) {
  // -1 for an answer without tokens.
  const auto num_decoded = static_cast<double>(result.tokens.size()) - 1;
  return num_decoded > 0 ? per_second(num_decoded, result.decode_seconds) : 0;
}

void print_timings(const Engine& engine, const RunFlags& flags, int64_t num_prefilled,
                   const Generation& result) {
  print_status("\nprefill {} tokens, {:.1f} tokens/s; decode {} tokens", num_prefilled,
               per_second(static_cast<double>(num_prefilled), result.prefill_seconds),
               result.tokens.size());
  if (result.tokens.size() > 1) print_status(", {:.1f} tokens/s", decode_rate(result));
  print_status("\n");
  if (result.reason == StopReason::kContextFull) {
    print_status("The context of {} tokens is full; the answer ends here.\n",
                 engine.context_length());
  }
  if (flags.generate.sampler.temperature > 0) {
    print_status("seed {}\n", flags.generate.sampler.seed);
  }
}

// The token as text and as bytes: one token need not be whole characters.
nlohmann::json logprob_json(const Tokenizer& tokenizer, const TokenLogprob& entry) {
  const std::string_view bytes = tokenizer.token_bytes(entry.token);
  return {{"token", entry.token},
          {"text", replace_invalid_utf8(bytes)},
          {"bytes", std::vector<uint8_t>(bytes.begin(), bytes.end())},
          // JSON has no infinity: null is a forbidden token.
          {"logprob", std::isfinite(entry.logprob) ? nlohmann::json(entry.logprob) : nullptr}};
}

// [{"token", "text", "bytes", "logprob", "top": [...]}, ...], one for each token.
nlohmann::json logprobs_json(const Tokenizer& tokenizer, const Generation& result) {
  nlohmann::json list = nlohmann::json::array();
  for (const LogprobReport& report : result.logprobs) {
    nlohmann::json entry = logprob_json(tokenizer, report.chosen);
    entry["top"] = nlohmann::json::array();
    for (const TokenLogprob& top : report.top) {
      entry["top"].push_back(logprob_json(tokenizer, top));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void print_json(const Engine& engine, const RunFlags& flags, const std::vector<int32_t>& prompt,
                int64_t num_reused, const Generation& result) {
  const auto num_prefilled = static_cast<double>(prompt.size()) - static_cast<double>(num_reused);
  nlohmann::json json = {
      {"text", replace_invalid_utf8(result.text)},
      {"prompt_tokens", prompt},
      {"cached_tokens", num_reused},
      {"tokens", result.tokens},
      {"stop_reason", stop_reason_name(result.reason)},
      {"seed", flags.generate.sampler.seed},
      {"device", flags.engine.device},
      {"arch", engine.device().capabilities().arch},
      {"numerics", flags.engine.numerics},
      {"activations", activations_name(engine.model().activations)},
      {"prefill_seconds", result.prefill_seconds},
      {"decode_seconds", result.decode_seconds},
      {"prefill_tokens_per_second", per_second(num_prefilled, result.prefill_seconds)},
      {"decode_tokens_per_second", decode_rate(result)}};
  if (flags.generate.sampler.num_logprobs >= 0) {
    json["logprobs"] = logprobs_json(engine.tokenizer(), result);
  }
  fmt::print("{}\n", json.dump());
}

// The prompt and as much of the answer as was run through the model.
Result<void> save_prompt_cache(Engine& engine, const std::string& path, int32_t sequence,
                               std::vector<int32_t> tokens, const Generation& result) {
  tokens.insert(tokens.end(), result.tokens.begin(), result.tokens.end());
  QUERN_ASSIGN_OR_RETURN(const int64_t length, engine.kv().length(sequence));
  // The last token was sampled but not fed: the cache has no row for it.
  tokens.resize(std::min(tokens.size(), static_cast<size_t>(length)));
  return save_sequence(engine, sequence, tokens, path);
}

// A grammar would be one more input of the run; receipts do not hold one.
Result<void> check_receipt_flags(const RunFlags& flags) {
  if (flags.receipt.empty()) return {};
  QUERN_TRY(check_distinct({flags.receipt, flags.prompt_cache}));
  if (flags.engine.numerics != "strict") {
    return fail::invalid("--receipt needs --numerics strict, not {}.", flags.engine.numerics);
  }
  if (flags.generate.grammar) {
    return fail::unimplemented("--receipt does not go with --grammar or --json-schema.");
  }
  return {};
}

// Before the work: a receipt that cannot be written would lose the run that it is of. Nothing is
// put in place here, so an older receipt stays until there is a new one.
Result<void> check_receipt_path(const RunFlags& flags) {
  if (flags.receipt.empty()) return {};
  const auto file = AtomicFile::create(flags.receipt);
  if (file) return {};
  return tl::unexpected(file.error().with_context("--receipt"));
}

// Options that would do nothing are refused: who gives them expects something.
Result<void> check_run_flags(const RunFlags& flags) {
  if (!flags.system.empty() && !flags.is_chat) {
    return fail::invalid("--system needs --chat, since only a chat template has a place for it.");
  }
  if (flags.sampler.options.num_logprobs >= 0 && !flags.is_json) {
    return fail::invalid("--logprobs needs --json, which shows them.");
  }
  for (const std::string& stop : flags.generate.stops) {
    if (stop.empty()) return fail::invalid("--stop is empty; it must be a text to stop at.");
  }
  return {};
}

// What was sampled, and hashes of what it was sampled from.
Result<void> save_receipt(const Engine& engine, const RunFlags& flags,
                          const std::vector<int32_t>& prompt, const Generation& result,
                          std::vector<std::string> logits) {
  QUERN_ASSIGN_OR_RETURN(Receipt receipt, begin_receipt(engine));
  receipt.sampler = flags.generate.sampler;
  receipt.prompt = prompt;
  receipt.tokens = result.tokens;
  receipt.logits = std::move(logits);
  return write_receipt(flags.receipt, receipt);
}

// What can be wrong without a model is checked before it is loaded.
Result<void> run(RunFlags& flags, bool has_prompt) {
  const std::string prompt = read_prompt(flags, has_prompt);
  QUERN_TRY(flags.sampler.apply_to(flags.generate, flags.is_quiet));
  QUERN_TRY(check_run_flags(flags));
  QUERN_TRY(check_receipt_flags(flags));
  QUERN_TRY(check_receipt_path(flags));
  QUERN_ASSIGN_OR_RETURN(const auto engine, flags.engine.open(flags.is_quiet));
  QUERN_TRY(flags.sampler.resolve_tokens(engine->tokenizer(), flags.generate.sampler));
  QUERN_ASSIGN_OR_RETURN(const auto ids, encode_prompt(*engine, flags, prompt));
  extend_context(*engine, flags, ids.size());
  if (!flags.is_quiet) {
    print_status("{} on {} ({}, {} threads), {} numerics, {} activations\n",
                 engine->model().architecture, flags.engine.device,
                 engine->device().capabilities().arch, engine->device().capabilities().num_threads,
                 flags.engine.numerics, activations_name(engine->model().activations));
  }
  if (flags.shows_prompt) print_status("{}", describe_tokens(engine->tokenizer(), ids));
  QUERN_ASSIGN_OR_RETURN(const CachedPrompt cached,
                         open_prompt_cache(*engine, flags.prompt_cache, ids));
  // Only the rest is run; the sampler's penalties still see the whole prompt.
  const auto known = ids.begin() + cached.num_reused;
  flags.generate.history.assign(ids.begin(), known);
  std::vector<std::string> logits;
  if (!flags.receipt.empty()) {
    flags.generate.on_logits = [&](std::span<const float> row) {
      logits.push_back(hash_logits(row));
    };
  }
  // From here on Ctrl-C ends the text, not the program: caches and receipts are still written.
  const InterruptGuard interrupt;
  const auto sink = [&](std::string_view piece) {
    if (!flags.is_json) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    }
    // False ends generation after this piece.
    return !interrupt.was_interrupted();
  };
  QUERN_ASSIGN_OR_RETURN(
      const Generation result,
      generate(*engine, cached.sequence, {known, ids.end()}, flags.generate, sink));
  if (!flags.receipt.empty()) {
    QUERN_TRY(save_receipt(*engine, flags, ids, result, std::move(logits)));
  }
  if (flags.is_json) {
    print_json(*engine, flags, ids, cached.num_reused, result);
  } else if (::isatty(STDOUT_FILENO) == 1) {
    fmt::print("\n");  // a pipe or file gets the text and nothing else
  }
  if (!flags.is_quiet) print_timings(*engine, flags, ids.end() - known, result);
  if (flags.prompt_cache.empty()) return {};
  return save_prompt_cache(*engine, flags.prompt_cache, cached.sequence, ids, result);
}

}  // namespace

// Engine, sampler and what becomes of the text.
void set_up_run(OptionSet& command, Action& action) {
  auto flags = std::make_shared<RunFlags>();
  flags->engine.add_to(command);
  const Option prompt = command.add_option(
      "PROMPT", flags->prompt, "Text to continue or answer; standard input when it is a pipe");
  command.add_flag("--chat", flags->is_chat, "Apply the model's chat template to the prompt");
  command.add_option("--system", flags->system, "System message for --chat");
  command
      .add_option("--max-tokens", flags->generate.max_tokens,
                  "Most tokens to write; -1 writes until the model ends")
      .range(-1, int64_t{1} << 40)
      .show_default();
  flags->sampler.add_to(command);
  flags->sampler.add_logprobs_to(command);
  command.add_option("--stop", flags->generate.stops, "Text that ends the answer; repeatable")
      .repeatable();
  command.add_option("--prompt-cache", flags->prompt_cache,
                     "File of the computed prompt and answer: read where the prompt begins alike, "
                     "then written");
  command.add_flag("--verbose-prompt", flags->shows_prompt,
                   "Show the tokens of the prompt and their text on stderr");
  command.add_option("--receipt", flags->receipt,
                     "File for what was run and its bits; 'quern check' runs it again");
  command.add_flag("--json", flags->is_json, "One JSON object instead of text");
  command.add_flag("--quiet", flags->is_quiet, "Nothing on stderr but errors");
  command.footer(
      "Examples:\n"
      "  quern run model.gguf 'Once upon a time' --temp 0 --max-tokens 64\n"
      "  quern run model.gguf --chat 'What is the capital of France?'\n"
      "  quern run model.gguf --chat 'Name a colour.' --json-schema colour.json\n"
      "  quern run model.gguf \"$(cat book.txt)\" --prompt-cache book.kv\n"
      "  quern run model.gguf 'Once' --max-tokens 64 --receipt once.json && quern check once.json\n"
      "  cat question.txt | quern run model.gguf --chat --json");
  action = [flags, prompt] { return run(*flags, prompt.is_given()); };
}

}  // namespace quern::cli
