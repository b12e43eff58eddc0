// Opening a model and running tokens through it.
#include "generate/engine.h"

#include <algorithm>
#include <vector>

#include "base/fail.h"
#include "formats/model_metadata.h"
#include "models/adapter.h"
#include "text/vocabulary_reader.h"

namespace quern {
namespace {

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

void append_feed(Batch& batch, const Feed& feed, int64_t length) {
  const size_t first = batch.tokens.size();
  for (size_t i = 0; i < feed.tokens.size(); ++i) {
    batch.tokens.push_back(feed.tokens[i]);
    batch.positions.push_back(static_cast<int32_t>(length + static_cast<int64_t>(i)));
    batch.sequences.push_back(feed.sequence);
    const bool is_last = i + 1 == feed.tokens.size();
    if (feed.logits == Feed::Logits::kAll || (feed.logits == Feed::Logits::kLast && is_last)) {
      batch.output_rows.push_back(static_cast<int32_t>(first + i));
    }
  }
}

Result<RunArguments> arguments_of(const Batch& batch, KvStore& kv) {
  RunArguments arguments;
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["tokens"], i32_tensor(batch.tokens));
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["positions"], i32_tensor(batch.positions));
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["sequences"], i32_tensor(batch.sequences));
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["output_rows"], i32_tensor(batch.output_rows));
  arguments.states["kv"] = &kv;
  return arguments;
}

// A copy with the overrides in place; nothing where there are none.
std::optional<Metadata> with_overrides(const Metadata& metadata,
                                       const std::vector<MetadataOverride>& overrides) {
  const auto architecture = metadata.text("general.architecture");
  if (overrides.empty() || !architecture) return std::nullopt;
  Metadata copy = metadata;
  for (const MetadataOverride& item : overrides) {
    copy.set(std::string(*architecture) + "." + item.key, item.value);
  }
  return copy;
}

Result<std::vector<std::shared_ptr<const Adapter>>> open_adapters(
    const std::vector<AdapterFile>& files, const Metadata& metadata) {
  std::vector<std::shared_ptr<const Adapter>> adapters;
  for (const AdapterFile& item : files) {
    QUERN_ASSIGN_OR_RETURN(const auto file, GgufFile::open(item.path));
    QUERN_ASSIGN_OR_RETURN(const auto architecture, metadata.text("general.architecture"));
    auto adapter = make_adapter(file->metadata(), file, architecture, item.scale,
                                fmt::format("lora.{}/", adapters.size()));
    if (!adapter) {
      return tl::unexpected(adapter.error().with_context(fmt::format("Adapter '{}'", item.path)));
    }
    adapters.push_back(std::move(*adapter));
  }
  return adapters;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::open(const std::string& path,
                                             const EngineOptions& options) {
  std::unique_ptr<Engine> engine(new Engine());
  engine->options_ = options;
  QUERN_ASSIGN_OR_RETURN(engine->file_, GgufFile::open(path));
  engine->metadata_ = with_overrides(engine->file_->metadata(), options.overrides);
  const Metadata& metadata = engine->metadata();
  const auto load = [&]() -> Result<void> {
    QUERN_TRY(check_model_metadata(metadata));
    QUERN_ASSIGN_OR_RETURN(Vocabulary vocabulary, read_vocabulary(metadata));
    QUERN_ASSIGN_OR_RETURN(engine->tokenizer_, make_tokenizer(std::move(vocabulary)));
    ModelOptions& model_options = engine->options_.model;
    QUERN_ASSIGN_OR_RETURN(model_options.adapters, open_adapters(options.adapters, metadata));
    QUERN_ASSIGN_OR_RETURN(engine->model_,
                           build_language_model(metadata, *engine->file_, model_options));
    const AdaptedWeights weights(*engine->file_, model_options.adapters);
    engine->backends_ = register_backends();
    QUERN_ASSIGN_OR_RETURN(engine->backend_, engine->backends_.find(options.device));
    QUERN_ASSIGN_OR_RETURN(engine->device_, engine->backend_->open(options.device_options));
    QUERN_ASSIGN_OR_RETURN(
        engine->executable_,
        compile_and_load(engine->model_.graph, *engine->backend_, *engine->device_, &weights,
                         options.compile, options.progress));
    const StateDecl* state = engine->model_.graph.find_state("kv");
    QUERN_ASSIGN_OR_RETURN(engine->kv_, engine->device_->make_kv_store(*state));
    return {};
  };
  const auto loaded = load();
  if (!loaded) {
    return tl::unexpected(loaded.error().with_context(fmt::format("While loading '{}'", path)));
  }
  engine->long_context_ = LongContext(engine->model_.long_context_threshold);
  const int64_t trained = engine->model_.context_length;
  engine->context_length_ = options.context_length == 0 ? trained : options.context_length;
  return engine;
}

std::shared_ptr<const TokenTrie> Engine::token_trie() {
  if (token_trie_ == nullptr) token_trie_ = std::make_shared<const TokenTrie>(*tokenizer_);
  return token_trie_;
}

void Engine::allow_context(int64_t length) {
  context_length_ = std::max(context_length_, length);
}

Result<void> Engine::check_feed(const Feed& feed) const {
  QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
  const auto count = static_cast<int64_t>(feed.tokens.size());
  if (length + count > context_length_) {
    return fail::out_of_range("The context is full: {} tokens after {} pass the limit of {}.",
                              count, length, context_length_);
  }
  for (const int32_t token : feed.tokens) {
    if (token < 0 || token >= model_.vocab_size) {
      return fail::out_of_range("Token {} is outside the vocabulary of {}.", token,
                                model_.vocab_size);
    }
  }
  return {};
}

Result<Tensor> Engine::run_batch(std::span<const Feed> feeds) {
  Batch batch;
  for (const Feed& feed : feeds) {
    QUERN_TRY(kv_->reserve(feed.sequence, static_cast<int64_t>(feed.tokens.size())));
    QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
    append_feed(batch, feed, length);
  }
  QUERN_ASSIGN_OR_RETURN(RunArguments arguments, arguments_of(batch, *kv_));
  if (long_context_.is_on()) {
    std::vector<int32_t> is_long;
    for (const int32_t sequence : batch.sequences) {
      is_long.push_back(long_context_.is_long(sequence) ? 1 : 0);
    }
    QUERN_ASSIGN_OR_RETURN(arguments.inputs["long_context"], i32_tensor(is_long));
  }
  QUERN_ASSIGN_OR_RETURN(const RunResult result, executable_->run(arguments));
  for (const Feed& feed : feeds) {
    QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
    if (long_context_.is_on()) long_context_.append(feed.sequence, length, feed.tokens);
    QUERN_TRY(kv_->commit(feed.sequence, static_cast<int64_t>(feed.tokens.size())));
  }
  return *result.find("logits");
}

// A sequence whose rotary factors change is computed anew.
Result<void> Engine::restart_if_needed(const Feed& feed) {
  if (!long_context_.is_on()) return {};
  QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
  QUERN_ASSIGN_OR_RETURN(
      const bool must_restart,
      long_context_.must_restart(feed.sequence, length, static_cast<int64_t>(feed.tokens.size())));
  if (!must_restart) return {};
  const auto known = long_context_.history(feed.sequence);
  const std::vector<int32_t> history(known.begin(), known.end());
  QUERN_TRY(kv_->truncate(feed.sequence, 0));
  const Feed again{feed.sequence, history, Feed::Logits::kNone};
  QUERN_TRY(run_batch({&again, 1}));
  return {};
}

Result<Tensor> Engine::forward(std::span<const Feed> feeds) {
  for (const Feed& feed : feeds) QUERN_TRY(check_feed(feed));
  for (const Feed& feed : feeds) QUERN_TRY(restart_if_needed(feed));
  return run_batch(feeds);
}

Result<void> Engine::rotate(int32_t sequence, int64_t start, int64_t end) {
  if (!model_.rotation) {
    return fail::unimplemented(
        "The model's positions are part of its tokens: tokens in the middle "
        "of a sequence cannot be evicted.");
  }
  if (rotation_ == nullptr) {
    QUERN_ASSIGN_OR_RETURN(rotation_, compile_and_load(*model_.rotation, *backend_, *device_,
                                                       file_.get(), options_.compile));
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

Result<void> Engine::evict(int32_t sequence, int64_t start, int64_t count) {
  QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(sequence));
  if (start < 0 || count < 0 || start > length || count > length - start) {
    return fail::out_of_range("Tokens {} to {} cannot be evicted from a sequence of {}.", start,
                              start + count, length);
  }
  const int64_t end = length - count;
  const bool has_survivors = start < end && count > 0;
  if (has_survivors && !options_.model.is_evictable) {
    return fail::precondition("The model was not opened as evictable.");
  }
  if (has_survivors && !model_.rotation) return rotate(sequence, start, end);
  QUERN_TRY(kv_->close_gap(sequence, start, count));
  long_context_.evict(sequence, start, count);
  return has_survivors ? rotate(sequence, start, end) : Result<void>{};
}

Result<int32_t> Engine::import_sequence(std::span<const int32_t> tokens,
                                        std::span<const std::byte> rows, bool has_long_factors) {
  QUERN_ASSIGN_OR_RETURN(const int32_t sequence,
                         kv_->import_rows(static_cast<int64_t>(tokens.size()), rows));
  long_context_.adopt(sequence, tokens, has_long_factors);
  return sequence;
}

Result<Tensor> Engine::forward_chunked(const Feed& feed, int64_t chunk) {
  if (chunk < 1) return fail::invalid("A chunk of {} tokens is below 1.", chunk);
  QUERN_TRY(check_feed(feed));
  const size_t total = feed.tokens.size();
  QUERN_ASSIGN_OR_RETURN(const int64_t length, kv_->length(feed.sequence));
  long_context_.plan(feed.sequence, length + static_cast<int64_t>(total));
  const auto step = static_cast<size_t>(chunk);
  std::vector<std::byte> rows;
  for (size_t start = 0; start < total; start += step) {
    Feed part = feed;
    part.tokens = feed.tokens.subspan(start, std::min(step, total - start));
    const bool is_last = start + step >= total;
    if (feed.logits == Feed::Logits::kLast && !is_last) part.logits = Feed::Logits::kNone;
    QUERN_ASSIGN_OR_RETURN(const Tensor logits, forward({&part, 1}));
    if (is_last && rows.empty()) return logits;
    QUERN_ASSIGN_OR_RETURN(const auto bytes, logits.host_view());
    rows.insert(rows.end(), bytes.begin(), bytes.end());
  }
  const int64_t row_bytes = model_.vocab_size * 4;
  const auto num_rows = static_cast<int64_t>(rows.size()) / row_bytes;
  return Tensor::from_bytes(DType::kF32, Shape{num_rows, model_.vocab_size}, rows);
}

}  // namespace quern
