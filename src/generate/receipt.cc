// Making and checking receipts.
// A check needs no trust: it computes everything again and compares hashes of the logits, step by
// step.
#include "generate/receipt.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "generate/replay.h"
#include "generate/verify_model.h"
#include "quern/op.h"

namespace quern {
namespace {

// Steps whose logits are computed in one pass of a check: bounds the memory for them.
// 32 rows of a vocabulary of 150,000 are 19 MB.
constexpr size_t kCheckedRows = 32;

// Of the whole file, mapped.
Result<std::string> hash_file(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(path));
  return Sha256().update(mapped->bytes()).hex_digest();
}

// Of each operation that the graph uses.
std::map<std::string, int> operation_versions(const Graph& graph) {
  std::map<std::string, int> versions;
  for (const Node& node : graph.nodes()) versions.emplace(node.op->id, node.op->version);
  return versions;
}

// Bits can only be compared where the operations mean the same.
Result<void> check_operations(const Receipt& receipt) {
  for (const auto& [id, version] : receipt.operations) {
    const OpDef* op = builtin_ops().find(id);
    // The version changes with the bits of an operation, and only then.
    if (op != nullptr && op->version == version) continue;
    const std::string own = op == nullptr ? "none" : fmt::format("version {}", op->version);
    return fail::precondition(
        "The run used version {} of {}; this build has {}, so the bits cannot be compared.",
        version, id, own);
  }
  return {};
}

// By content, wherever the file is now.
Result<void> check_file(const std::string& path, const ReceiptFile& file) {
  QUERN_ASSIGN_OR_RETURN(const std::string sha256, hash_file(path));
  if (sha256 == file.sha256) return {};
  return fail::precondition(
      "'{}' is not the file of the run: its SHA-256 is {}, the receipt has {}.", path, sha256,
      file.sha256);
}

// Parts of a split model and adapters; the first file was checked already.
Result<void> check_other_files(const Receipt& receipt, const ModelFiles& files) {
  // A model that was split differently has other files, though perhaps the same weights.
  if (files.paths.size() != receipt.files.size()) {
    return fail::precondition("The run read {} files; the model here has {}.", receipt.files.size(),
                              files.paths.size());
  }
  for (size_t i = 1; i < files.paths.size(); ++i) {
    QUERN_TRY(check_file(files.paths[i], receipt.files[i]));
  }
  return {};
}

// Graph and operations together fix what is computed.
Result<void> check_graph(const Receipt& receipt, const Graph& graph) {
  if (semantic_hash(graph) == receipt.graph_hash &&
      operation_versions(graph) == receipt.operations) {
    return {};
  }
  return fail::precondition(
      "The model's graph is not that of the run: its hash is {:016x}, the receipt has {:016x}. "
      "Another version of Quern, or another option, made it.",
      semantic_hash(graph), receipt.graph_hash);
}

// As the run had them, but for the device.
EngineOptions engine_options(const Receipt& receipt, const CheckOptions& options) {
  EngineOptions engine;
  engine.device = options.device;
  engine.device_options = options.device_options;
  engine.model.activations = receipt.activations;
  engine.model.key_type = receipt.key_type;
  engine.model.value_type = receipt.value_type;
  engine.overrides = receipt.overrides;
  // The files behind the model's are adapters.
  for (size_t i = receipt.num_model_files; i < receipt.files.size(); ++i) {
    engine.adapters.push_back({receipt.files[i].path, receipt.files[i].scale});
  }
  engine.backends = options.backends;
  engine.progress = options.progress;
  engine.has_parity_gate = false;  // the check itself is the stricter test
  return engine;
}

// Runs the steps of a receipt on one engine.
class Checker {
 public:
  // Borrows all three.
  Checker(const Receipt& receipt, const CheckOptions& options, Engine& engine)
      : receipt_(receipt), options_(options), engine_(engine), sampler_(receipt.sampler) {}

  // Rows of logits for all tokens, then one check for each.
  Result<void> run() {
    std::vector<int32_t> all = receipt_.prompt;
    if (!receipt_.tokens.empty())
      // The last sampled token was never fed: nothing was computed from it.
      all.insert(all.end(), receipt_.tokens.begin(), receipt_.tokens.end() - 1);
    // The run may have been made with a longer context than is usual.
    engine_.allow_context(static_cast<int64_t>(all.size()));
    QUERN_ASSIGN_OR_RETURN(const int32_t sequence, engine_.kv().create_sequence());
    sampler_.accept(receipt_.prompt);
    // The last token of the prompt gives the first step's logits.
    const std::span<const int32_t> tokens(all);
    // The prompt but its last token gives no logits that the receipt knows.
    const size_t before = receipt_.prompt.size() - 1;
    // Where rotary factors depend on the length so far, each step sees the length of its own.
    const size_t rows_at_once = engine_.model().long_context_threshold > 0 ? 1 : kCheckedRows;
    if (before > 0) {
      QUERN_TRY(
          engine_.forward_chunked({sequence, tokens.first(before), Feed::Logits::kNone}, 512));
    }
    for (size_t start = before; start < all.size(); start += rows_at_once) {
      const auto part = tokens.subspan(start, std::min(rows_at_once, all.size() - start));
      const Feed feed{sequence, part, Feed::Logits::kAll};
      QUERN_ASSIGN_OR_RETURN(const Tensor rows, engine_.forward({&feed, 1}));
      QUERN_TRY(check_rows(rows, start - before));
    }
    return {};
  }

 private:
  // Rows of one pass; the last pass may hold more than there are steps.
  Result<void> check_rows(const Tensor& rows, size_t first_step) {
    QUERN_ASSIGN_OR_RETURN(const std::vector<float> logits, rows.read_as<float>());
    const auto width = static_cast<size_t>(rows.shape().last());
    const size_t num_rows = logits.size() / width;
    // Holds where a receipt has no steps: the prompt's last row is then not compared.
    for (size_t i = 0; i < num_rows && first_step + i < receipt_.tokens.size(); ++i) {
      QUERN_TRY(check_step(first_step + i, std::span(logits).subspan(i * width, width)));
    }
    return {};
  }

  // The hash first: with other logits the sampler says nothing.
  Result<void> check_step(size_t step, std::span<const float> logits) {
    if (hash_logits(logits) != receipt_.logits[step]) return logits_differ(step);
    QUERN_ASSIGN_OR_RETURN(const int32_t token, sampler_.sample(logits));
    if (token == receipt_.tokens[step]) return {};
    return fail::data_loss(
        "Step {}: the logits have the same bits, but the receipt says token {} and the sampler "
        "chooses {}. The receipt's tokens or sampling options were changed.",
        step, receipt_.tokens[step], token);
  }

  // Names the node by running the step's tokens here and on the reference.
  Result<void> logits_differ(size_t step) {
    std::vector<int32_t> tokens = receipt_.prompt;
    tokens.insert(tokens.end(), receipt_.tokens.begin(),
                  receipt_.tokens.begin() + static_cast<int64_t>(step));
    VerifyOptions verify;
    verify.device = options_.device;
    verify.device_options = options_.device_options;
    // Made only where the options bring none.
    const BackendRegistry own = options_.backends ? BackendRegistry() : register_backends();
    QUERN_ASSIGN_OR_RETURN(const VerifyReport report,
                           verify_model(engine_.files(), tokens,
                                        options_.backends ? *options_.backends : own, verify));
    const std::string made_on =
        fmt::format("{} ({}, {} threads), Quern {}", receipt_.device, receipt_.arch,
                    receipt_.threads, receipt_.quern_version);
    if (report.comparison.first) {
      return fail::data_loss("Step {}: the logits do not have the bits of the receipt. {}", step,
                             describe_divergence(engine_.model().graph, report.comparison,
                                                 options_.device, "reference"));
    }
    return fail::data_loss(
        "Step {}: the logits do not have the bits of the receipt, but every node here has the bits "
        "of the reference. The run that the receipt is of, on {}, or the receipt itself is at "
        "fault.",
        step, made_on);
  }

  const Receipt& receipt_;
  const CheckOptions& options_;
  Engine& engine_;
  Sampler sampler_;
};

}  // namespace

// Little-endian on every host.
std::string hash_logits(std::span<const float> logits) {
  Sha256 hash;
  if constexpr (std::endian::native == std::endian::little) {
    hash.update(std::as_bytes(logits));
  } else {
    for (const float logit : logits) {
      auto raw = std::bit_cast<std::array<std::byte, 4>>(logit);
      std::ranges::reverse(raw);
      hash.update(raw);
    }
  }
  // 128 bits of the digest are enough against accidents and keep receipts short.
  return hash.hex_digest().substr(0, 32);
}

// Hashing reads the whole model.
Result<Receipt> begin_receipt(const Engine& engine) {
  const EngineOptions& options = engine.options();
  // Other modes promise no bits that another machine could check.
  if (options.compile.numerics != Numerics::kStrict) {
    return fail::precondition("A receipt is a promise of bits; it needs strict numerics, not {}.",
                              numerics_name(options.compile.numerics));
  }
  const LanguageModel& model = engine.model();
  Receipt receipt;
  receipt.quern_version = QUERN_VERSION;
  receipt.num_model_files = engine.files().paths.size() - options.adapters.size();
  for (size_t i = 0; i < engine.files().paths.size(); ++i) {
    ReceiptFile file{.path = engine.files().paths[i], .sha256 = {}, .scale = 1};
    QUERN_ASSIGN_OR_RETURN(file.sha256, hash_file(file.path));
    if (i >= receipt.num_model_files)
      file.scale = options.adapters[i - receipt.num_model_files].scale;
    receipt.files.push_back(std::move(file));
  }
  receipt.architecture = model.architecture;
  receipt.graph_hash = semantic_hash(model.graph);
  receipt.operations = operation_versions(model.graph);
  receipt.activations = model.activations;
  receipt.key_type = options.model.key_type;
  receipt.value_type = options.model.value_type;
  receipt.overrides = options.overrides;
  const Capabilities& capabilities = engine.device().capabilities();
  receipt.device = options.device;
  receipt.arch = capabilities.arch;
  receipt.threads = capabilities.num_threads;
  return receipt;
}

// In rising cost: versions, files, graph, run.
Result<CheckReport> check_receipt(const Receipt& receipt, const CheckOptions& options) {
  QUERN_TRY(check_operations(receipt));
  QUERN_TRY(check_sampler_options(receipt.sampler));
  const std::string path = options.model.empty() ? receipt.files.front().path : options.model;
  const EngineOptions engine_opts = engine_options(receipt, options);
  // Content first: a damaged file may not even parse, and the damage is what there is to say.
  QUERN_TRY(check_file(path, receipt.files.front()));
  // A scope of its own: the files are closed before the engine opens them again.
  {
    QUERN_ASSIGN_OR_RETURN(
        const ModelFiles files,
        open_model_files(path, engine_opts.model, engine_opts.overrides, engine_opts.adapters));
    QUERN_TRY(check_other_files(receipt, files));
    QUERN_TRY(check_graph(receipt, files.model.graph));
  }
  QUERN_ASSIGN_OR_RETURN(const auto engine, Engine::open(path, engine_opts));
  QUERN_TRY(Checker(receipt, options, *engine).run());
  const Capabilities& capabilities = engine->device().capabilities();
  return CheckReport{static_cast<int64_t>(receipt.prompt.size()),
                     static_cast<int64_t>(receipt.tokens.size()), capabilities.arch,
                     capabilities.num_threads};
}

}  // namespace quern
