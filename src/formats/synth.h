// Random-weight models of real shapes, for tests and benches that need a file but no meaning.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/dtype.h"
#include "quern/error.h"

namespace quern {

// A model of the llama family.
struct SynthShape {
  // Name on the command line.
  std::string_view name;
  int64_t num_layers;
  // Widths and counts as in the papers of the models.
  int64_t hidden;
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t ffn;  // width of the feed-forward layer
  int64_t vocab;
  double rope_base;
  int64_t context;
  bool is_tied;  // the head is the embedding
  std::string_view pre_tokenizer;

  // Of queries and keys.
  int64_t head_dim() const { return hidden / num_heads; }
  // Of the matrix elements: 0.02 for the real shapes. Every matrix gives outputs near 0.8 for
  // inputs near 1, so each layer moves the logits.
  float weight_stddev() const;
};

// Immutable, for the life of the program.
std::span<const SynthShape> synth_shapes();
// Errors: kNotFound, listing the names there are.
Result<SynthShape> find_synth_shape(std::string_view name);

struct SynthOptions {
  std::string shape = "tiny";
  DType dtype = DType::kF32;  // of the matrices; norms are f32
  uint64_t seed = 0;
};

// What was written.
struct SynthReport {
  int64_t num_tensors = 0;
  int64_t num_parameters = 0;
  int64_t weight_bytes = 0;
  // Full sentences on tensors whose rows do not fit the dtype and got another.
  std::vector<std::string> notes;
};

using SynthProgress = std::function<void(int64_t done_bytes, int64_t total_bytes)>;

// Writes a GGUF file that any reader of the llama family takes, with a byte-level BPE vocabulary.
// Blocks of quantised formats are drawn directly, so every format works and no encoder is involved.
// The same options give the same bytes on every machine. The file is not forced to the disk.
// Errors: kNotFound (shape), kInvalidArgument (a dtype that weights cannot have), those of
// GgufWriter.
Result<SynthReport> write_synthetic_model(const std::string& path, const SynthOptions& options,
                                          const SynthProgress& progress = {});

}  // namespace quern
