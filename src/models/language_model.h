// A language model as a graph, and the facts that running it needs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/metadata.h"
#include "quern/graph.h"
#include "quern/model_options.h"
#include "quern/weight_source.h"

namespace quern {

// What build_language_model() makes of a file; owned by the engine. Thread-compatible.
// Graph inputs: tokens, positions, sequences i32[T]; output_rows i32[R] picks the tokens whose
// logits are wanted. Output: logits f32[R, vocab_size]. State: kv. With long_context_threshold > 0
// there is also the input long_context i32[T]: 1 for tokens of sequences longer than it.
struct LanguageModel {
  Graph graph;
  // For evictable models with rotary positions: rotates the kept keys at `positions` of `sequences`
  // anew and writes them to the cache. No outputs.
  std::optional<Graph> rotation;
  std::string architecture;
  int64_t vocab_size = 0;
  int64_t context_length = 0;  // tokens the model was trained for
  int64_t position_limit = 0;  // positions that the weights hold (learned ones); 0: any
  // Tokens from which rows take the long rotary factors (longrope); 0: the model has one set.
  int64_t long_context_threshold = 0;
  int64_t num_parameters = 0;                   // elements of all weights in the file
  Activations activations = Activations::kF32;  // resolved: never kAuto
};

// One family: the value of general.architecture and the function that builds its graph. A row of a
// static table.
struct ModelFamily {
  std::string_view architecture;
  Result<LanguageModel> (*build)(const Metadata& metadata, const WeightSource& weights,
                                 const ModelOptions& options);
};

// Every family of this build, by name. Thread-safe.
std::span<const ModelFamily> model_families();

// Builds the model that the metadata names. Only names, types and shapes of the weights are looked
// at, so that this works on a file whose bytes are elsewhere. Same metadata, weight list and
// options give the same graph.
// Errors: kNotFound for an unknown architecture, with the list of known ones, or a missing weight;
// kInvalidArgument for a config or tensor that does not fit; kUnimplemented for keys or tensors
// that this family does not know.
Result<LanguageModel> build_language_model(const Metadata& metadata, const WeightSource& weights,
                                           const ModelOptions& options);

}  // namespace quern
