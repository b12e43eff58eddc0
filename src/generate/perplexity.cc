// Chunked scoring of a text.
// The mean surprise of the second half of each chunk, where every token has some context.
#include "generate/perplexity.h"

#include <cmath>
#include <vector>

#include "base/fail.h"
#include "ops/math/strict_math.h"

namespace quern {
namespace {

// -log softmax(logits)[target] in float64.
double negative_log_likelihood(std::span<const float> logits, int32_t target) {
  // The largest logit is subtracted first: exp() of differences is at most 1.
  float highest = logits[0];
  for (const float logit : logits) highest = logit > highest ? logit : highest;
  double sum = 0;
  for (const float logit : logits) sum += strict_exp(static_cast<double>(logit) - highest);
  return strict_log(sum) - (static_cast<double>(logits[static_cast<size_t>(target)]) - highest);
}

// Of the negative log likelihoods, in nats.
struct Sums {
  double total = 0;
  double squares = 0;
  int64_t count = 0;
};

// Adds the surprise of each scored token to the sums.
Result<void> score_sequence(Engine& engine, int32_t sequence, std::span<const int32_t> chunk,
                            Sums& sums) {
  const auto context = static_cast<int64_t>(chunk.size());
  // Rounded down: a chunk of 5 has 2 tokens of context and scores at positions 2 and 3.
  const int64_t first = context / 2;
  // The first half is context only; rows of the second half score their next token.
  QUERN_TRY(engine.forward_chunked(
      {sequence, chunk.first(static_cast<size_t>(first)), Feed::Logits::kNone}, 512));
  // Bounds the logits in memory: 128 rows of the vocabulary.
  for (int64_t start = first; start < context - 1; start += 128) {
    const int64_t count = std::min<int64_t>(128, context - 1 - start);
    const Feed feed{sequence, chunk.subspan(static_cast<size_t>(start), static_cast<size_t>(count)),
                    Feed::Logits::kAll};
    QUERN_ASSIGN_OR_RETURN(const Tensor logits, engine.forward({&feed, 1}));
    QUERN_ASSIGN_OR_RETURN(const auto bytes, logits.host_view());
    const auto vocab = static_cast<size_t>(logits.shape().last());
    const auto* rows = reinterpret_cast<const float*>(bytes.data());
    for (int64_t i = 0; i < count; ++i) {
      const double nll = negative_log_likelihood({rows + static_cast<size_t>(i) * vocab, vocab},
                                                 chunk[static_cast<size_t>(start + i + 1)]);
      sums.total += nll;
      sums.squares += nll * nll;
      ++sums.count;
    }
  }
  return {};
}

// One chunk in a sequence of its own, which is gone afterwards, after an error too.
Result<void> score_chunk(Engine& engine, std::span<const int32_t> chunk, Sums& sums) {
  QUERN_ASSIGN_OR_RETURN(const int32_t sequence, engine.kv().create_sequence());
  const auto scored = score_sequence(engine, sequence, chunk, sums);
  QUERN_TRY(engine.kv().remove_sequence(sequence));
  return scored;
}

}  // namespace

// Chunks do not share a cache: each begins with the begin token.
Result<Perplexity> measure_perplexity(Engine& engine, std::span<const int32_t> tokens,
                                      int64_t context, const Progress& progress) {
  // With less than 4 tokens a half holds nothing to score.
  if (context < 4 || context > engine.context_length()) {
    return fail::invalid("A context of {} tokens is outside 4 to {}.", context,
                         engine.context_length());
  }
  // The rest behind the last whole chunk is left out, as its tokens would have less context.
  const auto num_chunks = static_cast<int64_t>(tokens.size()) / context;
  if (num_chunks == 0) {
    return fail::invalid("The text has {} tokens; one chunk needs {}.", tokens.size(), context);
  }
  const Tokenizer& tokenizer = engine.tokenizer();
  Sums sums;
  for (int64_t i = 0; i < num_chunks; ++i) {
    const auto part =
        tokens.subspan(static_cast<size_t>(i * context), static_cast<size_t>(context));
    std::vector<int32_t> chunk(part.begin(), part.end());
    // The model was trained with it in front; the first token of a chunk is not scored.
    if (tokenizer.adds_bos()) chunk[0] = tokenizer.special_ids().bos;
    QUERN_TRY(score_chunk(engine, chunk, sums));
    if (progress) progress(i + 1, num_chunks);
  }
  const auto n = static_cast<double>(sums.count);
  const double mean = sums.total / n;
  // Cancellation can leave a tiny negative number.
  const double variance = std::max(0.0, sums.squares / n - mean * mean);
  Perplexity result;
  result.value = strict_exp(mean);
  // The error of exp(mean) is exp(mean) times that of the mean: sqrt(variance / (n - 1)).
  result.uncertainty = sums.count > 1 ? result.value * std::sqrt(variance / (n - 1)) : 0;
  result.num_scored = sums.count;
  result.num_chunks = num_chunks;
  return result;
}

}  // namespace quern
