// Receipts: what a strict run was and gave, so that anyone can run it again and compare the bits.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "generate/engine.h"
#include "generate/generate.h"

namespace quern {

// A file that the run depended on, by content.
struct ReceiptFile {
  std::string path;    // as it was given; a hint for whoever checks
  std::string sha256;  // of the whole file
  double scale = 1;    // of an adapter
};

// Everything that fixes the bits of a run, and the bits. A plain value.
struct Receipt {
  // For people; the check goes by operation versions and not by it.
  // Of the program that ran.
  std::string quern_version;
  std::vector<ReceiptFile> files;  // the model (all parts of a split one), then adapters
  size_t num_model_files = 1;      // of `files`
  // As the model's metadata say.
  std::string architecture;
  uint64_t graph_hash = 0;                // semantic_hash() of the model's graph
  std::map<std::string, int> operations;  // version of each operation in the graph
  // Resolved; kAuto is not in receipts.
  Activations activations = Activations::kAuto;
  DType key_type = DType::kF32;
  DType value_type = DType::kF32;
  std::vector<MetadataOverride> overrides;
  // With its seed.
  SamplerOptions sampler;
  std::vector<int32_t> prompt;
  // For each sampled token: the token and a hash of the logits it was chosen from.
  std::vector<int32_t> tokens;
  // As many as tokens.
  std::vector<std::string> logits;
  // Where the run was; the bits do not depend on it.
  std::string device;
  std::string arch;
  int threads = 0;
};

// 32 hex digits of the SHA-256 of a row of logits, as little-endian f32.
// The same on every host.
std::string hash_logits(std::span<const float> logits);

// A receipt of this engine without prompt, sampler and steps. Reads all files to hash them.
// Errors: kFailedPrecondition unless the engine runs under strict; those of reading files.
Result<Receipt> begin_receipt(const Engine& engine);

// JSON with a digest of each part. Errors: those of AtomicFile.
Result<void> write_receipt(const std::string& path, const Receipt& receipt);
// The text of the file.
std::string receipt_to_json(const Receipt& receipt);
// Errors: kInvalidArgument for malformed text and for a version of the format that is not known;
// kDataLoss, naming the part, where a digest does not match: the receipt was changed.
Result<Receipt> read_receipt(const std::string& path);
Result<Receipt> parse_receipt(std::string_view text);

// Where the check runs.
struct CheckOptions {
  std::string model = {};  // another path for the model; empty: the receipt's
  std::string device = "cpu";
  DeviceOptions device_options = {};
  std::shared_ptr<const BackendRegistry> backends = {};  // null: those of this build
  Progress progress = {};                                // of loading weights
};

// A run that gave the same bits as its receipt.
struct CheckReport {
  // What was compared.
  int64_t num_prompt_tokens = 0;
  int64_t num_steps = 0;
  std::string arch;
  int threads = 0;
};

// Runs the receipt again: all tokens in few passes, which under strict are the same bits as one by
// one. Errors, each with the reason: kFailedPrecondition where this build, the files or the graph
// are not those of the receipt; kDataLoss where the run differs, with the first step, and the first
// node at which the device leaves the reference.
Result<CheckReport> check_receipt(const Receipt& receipt, const CheckOptions& options);

}  // namespace quern
