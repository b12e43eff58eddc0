// Prefill, then sample and feed back.
// Text leaves only when no stop string can begin in it and its last character is whole.
#include "generate/generate.h"

#include <chrono>
#include <utility>

#include "base/fail.h"
#include "generate/stop_matcher.h"
#include "text/grammar/token_constraint.h"
#include "text/stream_decoder.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

// By a clock that never goes back.
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Sampled tokens on their way to text: end tokens, stop strings, the caller's sink.
class Output {
 public:
  // After a control token the text begins anew; after text it goes on, with its space.
  // Under a grammar the space stays: the grammar sees the bytes of tokens, and the text must be
  // what it saw.
  Output(Engine& engine, int32_t last_prompt_token, const GenerateOptions& options,
         const TextSink& sink, Generation& result)
      : tokenizer_(engine.tokenizer()),
        sink_(sink),
        result_(result),
        decoder_(tokenizer_, {.strip_space_prefix =
                                  !options.grammar && tokenizer_.is_special(last_prompt_token)}),
        stops_(options.stops) {}

  // False when the generation has ended.
  bool push(int32_t token) {
    result_.tokens.push_back(token);
    // Counted among the tokens and kept out of the text.
    if (tokenizer_.is_end_of_generation(token)) return end(StopReason::kEndToken);
    if (!show(stops_.push(decoder_.push(token)))) return end(StopReason::kCancelled);
    return !stops_.has_stopped() || end(StopReason::kStopString);
  }

  // What was held back comes out: no stop string can follow any more.
  void finish() {
    // Behind a stop string nothing may come out.
    if (stops_.has_stopped()) return;
    // Bytes of an unfinished character become U+FFFD.
    show(stops_.push(decoder_.flush()));
    if (!stops_.has_stopped()) show(stops_.flush());
  }

  // Notes why the generation ended; false, for push() to return.
  bool end(StopReason reason) {
    result_.reason = reason;
    return false;
  }

 private:
  // An empty piece asks the sink all the same, so that it can stop a model that writes nothing.
  bool show(const std::string& text) {
    if (text.empty()) return !sink_ || sink_("");
    result_.text += text;
    return !sink_ || sink_(text);
  }

  const Tokenizer& tokenizer_;
  const TextSink& sink_;
  Generation& result_;
  StreamDecoder decoder_;
  StopMatcher stops_;
};

// Chooses tokens: the sampler, and the grammar where there is one.
class Chooser {
 public:
  // The prompt joins the history of penalties.
  Chooser(Engine& engine, const GenerateOptions& options, std::span<const int32_t> prompt)
      : sampler_(options.sampler), on_logits_(options.on_logits) {
    sampler_.accept(options.history);
    // In this order: penalties with a window count from the end.
    sampler_.accept(prompt);
    if (options.grammar) constraint_.emplace(engine.token_trie(), *options.grammar);
  }

  // Grammar, sampler, grammar: what is chosen is accepted by both.
  Result<int32_t> choose(const Tensor& logits, Generation& result) {
    QUERN_ASSIGN_OR_RETURN(const auto bytes, logits.host_view());
    // Null without a grammar: all tokens.
    const TokenMask* allowed = nullptr;
    if (constraint_) {
      QUERN_ASSIGN_OR_RETURN(allowed, constraint_->allowed());
    }
    const std::span<const float> row(reinterpret_cast<const float*>(bytes.data()),
                                     static_cast<size_t>(logits.shape().last()));
    // Before the sampler, which does not change them.
    if (on_logits_) on_logits_(row);
    QUERN_ASSIGN_OR_RETURN(const int32_t token, sampler_.sample(row, allowed));
    if (constraint_) QUERN_TRY(constraint_->accept(token));
    if (sampler_.logprobs() != nullptr) result.logprobs.push_back(*sampler_.logprobs());
    return token;
  }

  // Whether the grammar leaves nothing to choose.
  bool must_end() const { return constraint_ && constraint_->must_end(); }

 private:
  Sampler sampler_;
  // The caller's; empty for none.
  const std::function<void(std::span<const float>)>& on_logits_;
  std::optional<TokenConstraint> constraint_;
};

}  // namespace

// Words of JSON output; see generate.h.
std::string_view stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kEndToken:
      return "end_token";
    case StopReason::kStopString:
      return "stop_string";
    case StopReason::kMaxTokens:
      return "max_tokens";
    case StopReason::kContextFull:
      return "context_full";
    case StopReason::kCancelled:
      return "cancelled";
    case StopReason::kGrammarEnd:
      return "grammar_end";
  }
  return "unknown";
}

// The prompt's logits choose the first token; each token is fed back for the next.
Result<Generation> generate(Engine& engine, int32_t sequence, std::span<const int32_t> prompt,
                            const GenerateOptions& options, const TextSink& sink) {
  if (prompt.empty()) return fail::invalid("The prompt has no token to start from.");
  QUERN_TRY(check_sampler_options(options.sampler));
  Generation result;
  Chooser chooser(engine, options, prompt);
  Output output(engine, prompt.back(), options, sink, result);
  auto start = Clock::now();
  auto last = engine.forward_chunked({sequence, prompt, Feed::Logits::kLast}, options.prefill_chunk,
                                     [&] { return !sink || sink(""); });
  result.prefill_seconds = seconds_since(start);
  if (!last && last.error().code == ErrorCode::kCancelled) {
    output.end(StopReason::kCancelled);
    return result;
  }
  QUERN_ASSIGN_OR_RETURN(Tensor logits, std::move(last));
  start = Clock::now();
  while (true) {
    // The checks come before each choice, so that max_tokens = 0 only runs the prompt.
    const auto count = static_cast<int64_t>(result.tokens.size());
    if (chooser.must_end()) {
      output.end(StopReason::kGrammarEnd);
      break;
    }
    if (options.max_tokens >= 0 && count >= options.max_tokens) {
      output.end(StopReason::kMaxTokens);
      break;
    }
    QUERN_ASSIGN_OR_RETURN(const int32_t token, chooser.choose(logits, result));
    if (!output.push(token)) break;
    // The loop's first check ends it, without a run whose logits nobody wants.
    if (chooser.must_end()) continue;
    QUERN_ASSIGN_OR_RETURN(const int64_t length, engine.kv().length(sequence));
    // The token just chosen has no room any more; it stays in the answer.
    if (length >= engine.context_length()) {
      output.end(StopReason::kContextFull);
      break;
    }
    // The logits behind the last token are not needed.
    if (options.max_tokens >= 0 && count + 1 >= options.max_tokens) continue;
    const Feed feed{sequence, {&token, 1}, Feed::Logits::kLast};
    QUERN_ASSIGN_OR_RETURN(logits, engine.forward({&feed, 1}));
  }
  result.decode_seconds = seconds_since(start);
  output.finish();
  return result;
}

}  // namespace quern
