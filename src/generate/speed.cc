// Runs of made-up tokens, timed by the clock on the wall.
// Sequences of a measurement are clones of one that holds the depth, and are removed behind it.
#include "generate/speed.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/fail.h"
#include "hw/memory_roof.h"

namespace quern {
namespace {

// Tokens in one run, as generation has it.
constexpr int64_t kPrefillChunk = 512;

// Of the wall: threads work beside each other.
double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Tokens spread over the vocabulary.
std::vector<int32_t> made_up_tokens(int64_t count, int64_t vocab_size) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (size_t i = 0; i < tokens.size(); ++i) {
    // Knuth's multiplicative hash: neighbours lie far apart in the embedding table, as real tokens
    // do.
    tokens[i] = static_cast<int32_t>((i * 2654435761U) % static_cast<uint64_t>(vocab_size));
  }
  return tokens;
}

// By the name of GGUF files.
bool is_embedding(const GgufTensor& tensor) {
  return tensor.name == "token_embd.weight";
}
// Whether the embedding is the head too.
bool is_tied(const Engine& engine) {
  return engine.file().find("output.weight") == nullptr;
}

// Weights or biases of all experts of a layer: "blk.0.ffn_up_exps.weight". A shared expert
// ("shexp") and the router ("ffn_gate_inp") serve every token.
bool is_experts(const GgufTensor& tensor) {
  return tensor.name.find("_exps.") != std::string::npos;
}
// Of a mixture, the part of the experts that one token is sent to; 1 where the file says nothing.
double used_share_of_experts(const Engine& engine) {
  const std::string& arch = engine.model().architecture;
  const auto total = engine.metadata().integer_or(arch + ".expert_count", 0);
  const auto used = engine.metadata().integer_or(arch + ".expert_used_count", 0);
  // The model was built from these keys: an error of theirs would have been one of the model.
  if (!total || !used || *total < 1 || *used < 1) return 1;
  return static_cast<double>(*used) / static_cast<double>(*total);
}

// Sequences that are removed at the end.
class Sequences {
 public:
  // Borrows the engine.
  explicit Sequences(Engine& engine) : engine_(engine) {}
  // Removal cannot fail for ids that were given out.
  ~Sequences() {
    for (const int32_t id : ids_) (void)engine_.kv().remove_sequence(id).has_value();
  }
  Sequences(const Sequences&) = delete;
  Sequences& operator=(const Sequences&) = delete;

  // Clones share the pages of the depth.
  Result<void> add_clones(int32_t base, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      QUERN_ASSIGN_OR_RETURN(const int32_t id, engine_.clone_sequence(base));
      ids_.push_back(id);
    }
    return {};
  }
  // Valid until the next clone.
  std::span<const int32_t> ids() const { return ids_; }

 private:
  Engine& engine_;
  std::vector<int32_t> ids_;
};

}  // namespace

// Bases outlive single measurements.
SpeedMeter::~SpeedMeter() {
  for (const auto& [depth, base] : bases_) (void)engine_.kv().remove_sequence(base).has_value();
}

// Filled once: made-up tokens are the same at every depth, so that the next shallower base is the
// begin of this one.
Result<int32_t> SpeedMeter::base_of_depth(int64_t depth) {
  const auto next = bases_.lower_bound(depth);
  if (next != bases_.end() && next->first == depth) return next->second;
  const bool is_first = next == bases_.begin();
  const int64_t known = is_first ? 0 : std::prev(next)->first;
  QUERN_ASSIGN_OR_RETURN(const int32_t base, is_first
                                                 ? engine_.kv().create_sequence()
                                                 : engine_.clone_sequence(std::prev(next)->second));
  const auto tokens = made_up_tokens(depth, engine_.model().vocab_size);
  const auto rest = std::span<const int32_t>(tokens).subspan(static_cast<size_t>(known));
  if (!rest.empty()) {
    const auto filled = engine_.forward_chunked({base, rest, Feed::Logits::kNone}, kPrefillChunk);
    if (!filled) {
      (void)engine_.kv().remove_sequence(base).has_value();
      return tl::unexpected(filled.error());
    }
  }
  // Only after success: the next call fills anew.
  bases_.emplace(depth, base);
  return base;
}

Result<double> SpeedMeter::time_prefill(const SpeedCase& c, int32_t sequence) {
  const auto tokens = made_up_tokens(c.tokens, engine_.model().vocab_size);
  const auto start = std::chrono::steady_clock::now();
  QUERN_TRY(engine_.forward_chunked({sequence, tokens, Feed::Logits::kLast}, kPrefillChunk));
  return seconds_since(start);
}

// Every sequence gets tokens of its own, as in service.
Result<double> SpeedMeter::time_decode(const SpeedCase& c, std::span<const int32_t> sequences) {
  const auto tokens = made_up_tokens(c.tokens + c.batch, engine_.model().vocab_size);
  std::vector<Feed> feeds(sequences.size());
  const auto start = std::chrono::steady_clock::now();
  for (int64_t run = 0; run < c.tokens; ++run) {
    for (size_t i = 0; i < feeds.size(); ++i) {
      // Sequence i is i tokens ahead of the first, so that no two feed the same token in a run.
      const auto token = static_cast<size_t>(run) + i;
      feeds[i] = {sequences[i], {tokens.data() + token, 1}, Feed::Logits::kLast};
    }
    QUERN_TRY(engine_.forward(feeds));
  }
  return seconds_since(start);
}

// Fills the depth outside of the measured time.
Result<SpeedSample> SpeedMeter::measure(const SpeedCase& c, bool probes_roof) {
  if (c.tokens < 1 || c.batch < 1 || c.depth < 0) {
    return fail::invalid("A measurement of {} tokens, {} sequences and depth {} is not possible.",
                         c.tokens, c.batch, c.depth);
  }
  const bool is_prefill = c.kind == SpeedCase::Kind::kPrefill;
  engine_.allow_context(c.depth + c.tokens);
  QUERN_ASSIGN_OR_RETURN(const int32_t base, base_of_depth(c.depth));
  Sequences sequences(engine_);
  QUERN_TRY(sequences.add_clones(base, is_prefill ? 1 : c.batch));
  SpeedSample sample;
  if (probes_roof) {
    // Just before the run, as the machine may be busy with something else later.
    sample.read_roof = probe_read_bandwidth(engine_.device().capabilities().num_threads);
  }
  QUERN_ASSIGN_OR_RETURN(const double seconds, is_prefill ? time_prefill(c, sequences.ids()[0])
                                                          : time_decode(c, sequences.ids()));
  const int64_t tokens = is_prefill ? c.tokens : c.tokens * c.batch;
  sample.tokens_per_second = static_cast<double>(tokens) / seconds;
  return sample;
}

double weight_bytes_per_token(const Engine& engine) {
  const double used = used_share_of_experts(engine);
  double bytes = 0;
  for (const GgufTensor& tensor : engine.file().tensors()) {
    // Untied, decoding reads one row of the embedding table, which is nothing.
    if (is_embedding(tensor) && !is_tied(engine)) continue;
    bytes += static_cast<double>(tensor.size_bytes) * (is_experts(tensor) ? used : 1);
  }
  return bytes;
}

// Two operations each.
double products_per_token(const Engine& engine) {
  const double used = used_share_of_experts(engine);
  double products = 0;
  for (const GgufTensor& tensor : engine.file().tensors()) {
    if (is_embedding(tensor) || tensor.name == "output.weight") continue;
    // Norms and biases are no products; those of all experts of a layer have rank 2.
    if (tensor.shape.rank() < 2 || tensor.name.ends_with(".bias")) continue;
    products += static_cast<double>(tensor.shape.num_elements()) * (is_experts(tensor) ? used : 1);
  }
  return products;
}

// Of an even number, the upper one of the two.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace quern
