// A language model on a device: file, tokenizer, executable and key-value store together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generate/long_context.h"
#include "generate/model_files.h"
#include "quern/device.h"
#include "text/grammar/token_trie.h"

namespace quern {

struct GateSubject;

// How a model is opened. A plain value.
struct EngineOptions {
  std::string device = "cpu";  // exact name of a backend
  // As their own headers say.
  DeviceOptions device_options = {};
  CompileOptions compile = {};
  ModelOptions model = {};
  int64_t context_length = 0;  // limit of a sequence in tokens; 0: what the model was trained for
  std::vector<MetadataOverride> overrides = {};
  std::vector<AdapterFile> adapters = {};
  Progress progress = {};  // of loading weights
  // Told, with the model's parameters, before the parity gate runs the reference: some 3 s for each
  // 10^9 of them, at the first load of a model.
  std::function<void(int64_t)> before_reference = {};
  // Null: those of this build.
  std::shared_ptr<const BackendRegistry> backends = {};
  // A device that is not the reference must pass the parity gate before it serves the model.
  bool has_parity_gate = true;
  std::string pack_cache = {};    // folder for packed weights between loads; empty: none are kept
  std::string cache_folder = {};  // for what the gate keeps between loads; empty: nothing is kept
  // Of this program, as program_stamp() gives it: the gate then remembers in the cache folder what
  // passed, and lets it pass at later loads. Empty: it looks at each load.
  std::string program_stamp = {};
};

// Tokens to append to one sequence in a run, and the rows of logits wanted of them.
struct Feed {
  // Which rows of logits are wanted.
  enum class Logits : uint8_t { kNone, kLast, kAll };
  int32_t sequence = 0;
  std::span<const int32_t> tokens;
  // kNone still gives a tensor, of no rows.
  Logits logits = Logits::kLast;
};

// A model file, its graph compiled for a device, and the sequences that run on it:
//   file -> metadata (with overrides) -> graph -> executable on the device
//        -> tokenizer                            key-value store of the graph's state
// One thread only. Several engines can live in one process.
class Engine {
 public:
  // Errors: of the file, the tokenizer, the model, the device, the parity gate; they name the path.
  static Result<std::unique_ptr<Engine>> open(const std::string& path,
                                              const EngineOptions& options);

  // Parts of the engine; references live as long as it.
  const GgufFile& file() const { return *files_.file; }
  // Parts, for callers that look deeper.
  const ModelFiles& files() const { return files_; }
  const EngineOptions& options() const { return options_; }
  const Metadata& metadata() const { return files_.metadata(); }
  const LanguageModel& model() const { return files_.model; }
  const Tokenizer& tokenizer() const { return *files_.tokenizer; }
  // Of the tokenizer, for TokenConstraint; made at the first call. It must not outlive the engine.
  std::shared_ptr<const TokenTrie> token_trie();
  // Those of the options, opened.
  std::span<const std::shared_ptr<const Adapter>> adapters() const {
    return options_.model.adapters;
  }
  // What the engine was opened with.
  Numerics numerics() const { return options_.compile.numerics; }
  Device& device() { return *device_; }
  const Device& device() const { return *device_; }
  const Executable& executable() const { return *executable_; }
  Executable& executable() { return *executable_; }
  KvStore& kv() { return *kv_; }
  int64_t context_length() const { return context_length_; }
  // Until it is called with null, runs of tokens add the times of their nodes to `profile`.
  void profile_into(RunProfile* profile) { profile_ = profile; }
  // Raises the limit to `length` tokens. What lies beyond the trained length computes as defined,
  // but models write worse there.
  void allow_context(int64_t length);

  // Runs the feeds as one batch and appends them to their sequences. f32 [R, vocab_size]: the rows
  // wanted, in order. The bits do not depend on what else is in the batch.
  // Errors: kOutOfRange at the context limit or for a token outside the vocabulary;
  // kInvalidArgument for a sequence that stands twice. After an error the sequences are as before.
  Result<Tensor> forward(std::span<const Feed> feeds);
  // One feed, cut into runs of at most `chunk` tokens; the rows wanted of all of them. `goes_on` is
  // asked before each run but the first; where it says no the result is kCancelled, and the sequence
  // keeps what was run.
  Result<Tensor> forward_chunked(const Feed& feed, int64_t chunk,
                                 const std::function<bool()>& goes_on = {});
  // Drops tokens start .. start + count - 1 of the sequence and moves those behind them up: their
  // keys are rotated once, from their unrotated form, at the new positions. Needs
  // ModelOptions::is_evictable unless the span is at the end.
  // Errors: kOutOfRange; kFailedPrecondition; kUnimplemented for learned positions.
  Result<void> evict(int32_t sequence, int64_t start, int64_t count);
  // A sequence with the same content; use this, not the store's, so that longrope models know it.
  Result<int32_t> clone_sequence(int32_t sequence);
  // A new sequence from the rows that KvStore::export_rows gave for it, the tokens that they stand
  // for, and what has_long_factors() said. Errors: kInvalidArgument for rows of another size.
  Result<int32_t> import_sequence(std::span<const int32_t> tokens, std::span<const std::byte> rows,
                                  bool has_long_factors);
  // Whether the rows were computed with the rotary factors of long sequences (longrope).
  bool has_long_factors(int32_t sequence) const { return long_context_.is_long(sequence); }

 private:
  Engine() = default;
  // Whether the feed's tokens are in the vocabulary and fit the context.
  Result<void> check_feed(const Feed& feed) const;
  // Costs a run over all tokens so far, once per sequence and crossing.
  // For models with two sets of rotary factors: a sequence that passes the threshold is computed
  // anew.
  Result<void> restart_if_needed(const Feed& feed);
  // forward() for feeds whose rotary factors are chosen already.
  Result<Tensor> forward_planned(std::span<const Feed> feeds);
  // Rotates the keys of rows [start, end) anew from their unrotated form.
  Result<void> rotate(int32_t sequence, int64_t start, int64_t end);
  // forward() without its checks.
  Result<Tensor> run_batch(std::span<const Feed> feeds);

  // Steps of open().
  Result<void> load_model();
  bool needs_parity_gate() const;
  Result<GateSubject> gate_subject(const WeightSource& weights) const;

  // In the order of making: later members look at earlier ones.
  ModelFiles files_;
  std::shared_ptr<const TokenTrie> token_trie_;
  std::unique_ptr<Device> device_;
  EngineOptions options_;
  const Backend* backend_ = nullptr;
  std::shared_ptr<const BackendRegistry> backends_;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<Executable> rotation_;  // loaded at the first eviction
  std::unique_ptr<KvStore> kv_;
  LongContext long_context_;
  int64_t context_length_ = 0;
  RunProfile* profile_ = nullptr;  // not owned
};

}  // namespace quern
