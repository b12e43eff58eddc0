// Opening a model and running tokens through it.
// A batch is checked as a whole before anything runs, so that an error changes no sequence.
#include "generate/engine.h"

#include <algorithm>
#include <vector>

#include "base/fail.h"
#include "generate/parity_gate.h"

namespace quern {
namespace {

// [n]
Result<Tensor> i32_tensor(const std::vector<int32_t>& values) {
  return Tensor::from<int32_t>(DType::kI32, Shape{static_cast<int64_t>(values.size())}, values);
}

// The graph's inputs for a batch of feeds.
struct Batch {
  std::vector<int32_t> tokens;
  std::vector<int32_t> positions;
  std::vector<int32_t> sequences;
  std::vector<int32_t> output_rows;
};

// Tokens take the positions behind the `length` rows that the sequence has.
void append_feed(Batch& batch, const Feed& feed, int64_t length) {
  const size_t first = batch.tokens.size();
  for (size_t i = 0; i < feed.tokens.size(); ++i) {
    batch.tokens.push_back(feed.tokens[i]);
    batch.positions.push_back(static_cast<int32_t>(length + static_cast<int64_t>(i)));
    batch.sequences.push_back(feed.sequence);
    const bool is_last = i + 1 == feed.tokens.size();
    // Rows are counted in the batch, not in the sequence.
    if (feed.logits == Feed::Logits::kAll || (feed.logits == Feed::Logits::kLast && is_last)) {
      batch.output_rows.push_back(static_cast<int32_t>(first + i));
    }
  }
}

// Tensors of the names that every model's graph has. The store is borrowed for the run.
Result<RunArguments> arguments_of(const Batch& batch, KvStore& kv) {
  RunArguments arguments;
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["tokens"], i32_tensor(batch.tokens));
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["positions"], i32_tensor(batch.positions));
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["sequences"], i32_tensor(batch.sequences));
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["output_rows"], i32_tensor(batch.output_rows));
  arguments.states["kv"] = &kv;
  return arguments;
}

// Feeds of one sequence would all begin at its end and overwrite each other.
Result<void> check_once_each(std::span<const Feed> feeds) {
  std::vector<int32_t> sequences;
  for (const Feed& feed : feeds) sequences.push_back(feed.sequence);
  std::ranges::sort(sequences);
  // After the sort, equal ids stand side by side.
  const auto twice = std::ranges::adjacent_find(sequences);
  if (twice == sequences.end()) return {};
  return fail::invalid("Sequence {} stands twice in one batch.", *twice);
}

}  // namespace

// Files first, then the device: errors of a model are the same on every device.
Result<std::unique_ptr<Engine>> Engine::open(const std::string& path,
                                             const EngineOptions& options) {
  // The constructor is private: a half-open engine must not get out.
  std::unique_ptr<Engine> engine(new Engine());
  engine->options_ = options;
  QUERN_ASSIGN_OR_RETURN(
      engine->files_, open_model_files(path, options.model, options.overrides, options.adapters));
  const auto loaded = engine->load_model();
  if (!loaded) {
    return tl::unexpected(loaded.error().with_context(fmt::format("While loading '{}'", path)));
  }
  const LanguageModel& model = engine->model();
  if (model.position_limit > 0 && options.context_length > model.position_limit) {
    return fail::out_of_range("The context length is {}; '{}' has {} learned positions.",
                              options.context_length, path, model.position_limit);
  }
  engine->long_context_ = LongContext(model.long_context_threshold);
  engine->context_length_ =
      // May be set above the trained length on purpose: see allow_context().
      options.context_length == 0 ? model.context_length : options.context_length;
  return engine;
}

// Compiles, loads the weights, makes the cache, and lets the device prove itself.
Result<void> Engine::load_model() {
  if (options_.context_length < 0) {
    return fail::invalid("The context length is {}; it must be 0 or more.",
                         options_.context_length);
  }
  backends_ = options_.backends;
  // Held by the engine, since `backend_` points into it.
  if (backends_ == nullptr) {
    backends_ = std::make_shared<const BackendRegistry>(register_backends());
  }
  QUERN_ASSIGN_OR_RETURN(backend_, backends_->find(options_.device));
  QUERN_ASSIGN_OR_RETURN(device_, backend_->open(options_.device_options));
  // Before the weights are loaded, which is when they are packed.
  QUERN_TRY(device_->keep_packed_weights(options_.pack_cache));
  const AdaptedWeights weights = files_.weights();
  // Before the weights are loaded too: the reference reads the whole file.
  std::optional<ParityGate> gate;
  if (needs_parity_gate()) {
    QUERN_ASSIGN_OR_RETURN(const GateSubject subject, gate_subject(weights));
    QUERN_ASSIGN_OR_RETURN(gate, ParityGate::prepare(subject));
  }
  QUERN_ASSIGN_OR_RETURN(executable_, compile_and_load(model().graph, *backend_, *device_, &weights,
                                                       options_.compile, options_.progress));
  QUERN_ASSIGN_OR_RETURN(kv_, device_->make_kv_store(*model().graph.find_state("kv")));
  // Last: it runs the executable that was just loaded.
  return gate ? gate->check(*executable_) : Result<void>{};
}

// The reference needs no proof, and tests may switch it off.
bool Engine::needs_parity_gate() const {
  return options_.has_parity_gate &&
         device_->capabilities().correctness != CorrectnessClass::kReference;
}

// What the gate needs to know of the model and its device.
Result<GateSubject> Engine::gate_subject(const WeightSource& weights) const {
  // The first token is the begin token, or 0 where the vocabulary has none: any token will do.
  GateSubject subject{.model = &files_.model,
                      .weights = &weights,
                      .device_name = options_.device,
                      .device = device_.get(),
                      .numerics = options_.compile.numerics,
                      .first_token = std::max(tokenizer().special_ids().bos, int32_t{0}),
                      .cache_folder = options_.cache_folder,
                      .pack_cache = options_.pack_cache,
                      .passes = options_.compile.passes,
                      .before_reference = options_.before_reference};
  // Nodes on other devices would need those in the name of a pass as well.
  if (options_.compile.placement.empty()) subject.program_stamp = options_.program_stamp;
  QUERN_ASSIGN_OR_RETURN(subject.reference, backends_->find("reference"));
  return subject;
}

// Made when it is first asked for: only grammars need it.
std::shared_ptr<const TokenTrie> Engine::token_trie() {
  if (token_trie_ == nullptr) token_trie_ = std::make_shared<const TokenTrie>(tokenizer());
  return token_trie_;
}

// Never lowers it. Learned positions end where their table ends.
void Engine::allow_context(int64_t length) {
  if (model().position_limit > 0) length = std::min(length, model().position_limit);
  context_length_ = std::max(context_length_, length);
}

// Before anything of a batch is changed.
Result<void> Engine::check_feed(const Feed& feed) const {
  QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
  const auto count = static_cast<int64_t>(feed.tokens.size());
  // Both count tokens in memory: the sum cannot overflow.
  if (length + count > context_length_) {
    return fail::out_of_range("The context is full: {} tokens after {} pass the limit of {}.",
                              count, length, context_length_);
  }
  for (const int32_t token : feed.tokens) {
    if (token < 0 || token >= model().vocab_size) {
      return fail::out_of_range("Token {} is outside the vocabulary of {}.", token,
                                model().vocab_size);
    }
  }
  return {};
}

// Reserve, run, commit: a run that fails leaves rows that were never committed, which nobody sees.
Result<Tensor> Engine::run_batch(std::span<const Feed> feeds) {
  Batch batch;
  for (const Feed& feed : feeds) {
    // Reserving again after an error is harmless: see KvStore.
    QUERN_TRY(kv_->reserve(feed.sequence, static_cast<int64_t>(feed.tokens.size())));
    QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
    append_feed(batch, feed, length);
  }
  QUERN_ASSIGN_OR_RETURN(RunArguments arguments, arguments_of(batch, *kv_));
  // The graph has this input only where the model has two sets of factors.
  if (long_context_.is_on()) {
    std::vector<int32_t> is_long;
    for (const int32_t sequence : batch.sequences) {
      is_long.push_back(long_context_.is_long(sequence) ? 1 : 0);
    }
    QUERN_ASSIGN_OR_RETURN(arguments.inputs["long_context"], i32_tensor(is_long));
  }
  arguments.profile = profile_;
  QUERN_ASSIGN_OR_RETURN(const RunResult result, executable_->run(arguments));
  for (const Feed& feed : feeds) {
    QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
    if (long_context_.is_on()) long_context_.append(feed.sequence, length, feed.tokens);
    // All feeds ran in one execution: they are committed together.
    QUERN_TRY(kv_->commit(feed.sequence, static_cast<int64_t>(feed.tokens.size())));
  }
  return *result.find("logits");
}

// A sequence whose rotary factors change is computed anew. The old rows stay until that is done, so
// that an error leaves the sequence as it was.
Result<void> Engine::restart_if_needed(const Feed& feed) {
  if (!long_context_.is_on()) return {};
  QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
  QUERN_ASSIGN_OR_RETURN(const bool must_restart,
                         long_context_.must_restart(feed.sequence, length));
  if (!must_restart) return {};
  const auto known = long_context_.history(feed.sequence);
  // Copied, as run_batch() appends to it.
  const std::vector<int32_t> history(known.begin(), known.end());
  QUERN_ASSIGN_OR_RETURN(const int32_t backup, kv_->clone_sequence(feed.sequence));
  QUERN_TRY(kv_->truncate(feed.sequence, 0));
  const Feed again{feed.sequence, history, Feed::Logits::kNone};
  const auto done = run_batch({&again, 1});
  if (!done) {
    QUERN_TRY(kv_->swap_sequences(feed.sequence, backup));
    // must_restart() chose the other factors already.
    long_context_.adopt(feed.sequence, history, !long_context_.is_long(feed.sequence));
  }
  QUERN_TRY(kv_->remove_sequence(backup));
  return done ? Result<void>() : tl::unexpected(done.error());
}

// Checks all feeds, then runs them: an error leaves no sequence changed.
Result<Tensor> Engine::forward(std::span<const Feed> feeds) {
  QUERN_TRY(check_once_each(feeds));
  for (const Feed& feed : feeds) {
    QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
    long_context_.plan(feed.sequence, length + static_cast<int64_t>(feed.tokens.size()));
  }
  return forward_planned(feeds);
}

// Feeds whose factors were chosen by restart_if_needed().
Result<Tensor> Engine::forward_planned(std::span<const Feed> feeds) {
  for (const Feed& feed : feeds) QUERN_TRY(check_feed(feed));
  for (const Feed& feed : feeds) QUERN_TRY(restart_if_needed(feed));
  return run_batch(feeds);
}

// In one run over the rows, through the graph that the model brought.
Result<void> Engine::rotate(int32_t sequence, int64_t start, int64_t end) {
  if (!model().rotation) {
    return fail::unimplemented(
        "The model's positions are part of its tokens: tokens in the middle "
        "of a sequence cannot be evicted.");
  }
  // Compiled on the first use: most engines never evict.
  if (rotation_ == nullptr) {
    QUERN_ASSIGN_OR_RETURN(rotation_, compile_and_load(*model().rotation, *backend_, *device_,
                                                       files_.file.get(), options_.compile));
  }
  std::vector<int32_t> positions;
  for (int64_t p = start; p < end; ++p) positions.push_back(static_cast<int32_t>(p));
  const std::vector<int32_t> sequences(positions.size(), sequence);
  RunArguments arguments;
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["positions"], i32_tensor(positions));
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["sequences"], i32_tensor(sequences));
  if (long_context_.is_on()) {
    const std::vector<int32_t> is_long(positions.size(), long_context_.is_long(sequence) ? 1 : 0);
    QUERN_ASSIGN_OR_RETURN(arguments.inputs["long_context"], i32_tensor(is_long));
  }
  arguments.states["kv"] = kv_.get();
  QUERN_TRY(rotation_->run(arguments));
  return {};
}

// What cannot be done is refused before the cache changes.
Result<void> Engine::evict(int32_t sequence, int64_t start, int64_t count) {
  QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(sequence));
  if (start < 0 || count < 0 || start > length || count > length - start) {
    return fail::out_of_range("{} tokens from {} cannot be evicted from a sequence of {}.", count,
                              start, length);
  }
  const int64_t end = length - count;
  // Rows behind the gap move up and must be rotated to their new positions.
  // A span at the end leaves nobody to be moved.
  const bool has_survivors = start < end && count > 0;
  if (has_survivors && !options_.model.is_evictable) {
    return fail::precondition("The model was not opened as evictable.");
  }
  // rotate() gives the error, and nothing was changed.
  if (has_survivors && !model().rotation) return rotate(sequence, start, end);
  QUERN_TRY(kv_->close_gap(sequence, start, count));
  long_context_.evict(sequence, start, count);
  return has_survivors ? rotate(sequence, start, end) : Result<void>{};
}

// Knows of the rotary factors, which the store does not.
Result<int32_t> Engine::clone_sequence(int32_t sequence) {
  QUERN_ASSIGN_OR_RETURN(const int32_t clone, kv_->clone_sequence(sequence));
  long_context_.clone(sequence, clone);
  return clone;
}

// Checks the rows against the tokens before a sequence is made.
Result<int32_t> Engine::import_sequence(std::span<const int32_t> tokens,
                                        std::span<const std::byte> rows, bool has_long_factors) {
  QUERN_ASSIGN_OR_RETURN(const int32_t sequence,
                         kv_->import_rows(static_cast<int64_t>(tokens.size()), rows));
  long_context_.adopt(sequence, tokens, has_long_factors);
  return sequence;
}

// Long prompts in pieces: the memory of a run grows with its tokens, and its bits do not change.
Result<Tensor> Engine::forward_chunked(const Feed& feed, int64_t chunk,
                                       const std::function<bool()>& goes_on) {
  if (chunk < 1) return fail::invalid("A chunk of {} tokens is below 1.", chunk);
  QUERN_TRY(check_feed(feed));
  const size_t total = feed.tokens.size();
  QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
  // Told before the first piece, so that a long prompt is not computed twice.
  long_context_.plan(feed.sequence, length + static_cast<int64_t>(total));
  const auto step = static_cast<size_t>(chunk);
  std::vector<std::byte> rows;
  for (size_t start = 0; start < total; start += step) {
    if (start > 0 && goes_on && !goes_on()) {
      return fail::with(ErrorCode::kCancelled, "Stopped after {} of {} tokens.", start, total);
    }
    Feed part = feed;
    // The bits do not depend on where the cut lies: attention walks chunks of keys by their index.
    part.tokens = feed.tokens.subspan(start, std::min(step, total - start));
    const bool is_last = start + step >= total;
    // Only the last piece holds the row that was asked for.
    if (feed.logits == Feed::Logits::kLast && !is_last) part.logits = Feed::Logits::kNone;
    QUERN_ASSIGN_OR_RETURN(const Tensor logits, forward_planned({&part, 1}));
    // The usual case: one run holds all rows that were asked for.
    if (is_last && rows.empty()) return logits;
    QUERN_ASSIGN_OR_RETURN(const auto bytes, logits.host_view());
    rows.insert(rows.end(), bytes.begin(), bytes.end());
  }
  // Logits are float32: [R, vocab].
  const int64_t row_bytes = model().vocab_size * 4;
  const auto num_rows = static_cast<int64_t>(rows.size()) / row_bytes;
  return Tensor::from_bytes(DType::kF32, Shape{num_rows, model().vocab_size}, rows);
}

}  // namespace quern
