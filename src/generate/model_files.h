// A language model's files on this machine: metadata, tokenizer, graph and weights, no device yet.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/gguf_reader.h"
#include "models/adapter.h"
#include "models/language_model.h"
#include "text/tokenizer.h"

namespace quern {

// A key of the model file with another value, e.g. a rope setting.
struct MetadataOverride {
  std::string key;  // without the architecture: "rope.freq_base"
  // Of the type that the key has.
  MetadataValue value;
};

// A GGUF file of a low-rank adapter, and how much of it is added.
struct AdapterFile {
  // And how much of it: 0 is none, negative numbers subtract.
  std::string path;
  double scale = 1;
};

// What open_model_files() read. It can be moved; the graph and the tokenizer hold no reference to
// it.
struct ModelFiles {
  std::shared_ptr<GgufFile> file;
  std::optional<Metadata> overridden;  // with overrides; else the file's
  std::unique_ptr<Tokenizer> tokenizer;
  LanguageModel model;
  ModelOptions options;            // with the adapters
  std::vector<std::string> paths;  // of everything that was opened

  // As the model was built from.
  const Metadata& metadata() const { return overridden ? *overridden : file->metadata(); }
  // What the graph's weights name. The files must outlive it.
  AdaptedWeights weights() const { return {*file, options.adapters}; }
};

// Errors: of the files, the tokenizer and the model. They name the path.
Result<ModelFiles> open_model_files(const std::string& path, const ModelOptions& options,
                                    std::span<const MetadataOverride> overrides = {},
                                    std::span<const AdapterFile> adapters = {});

}  // namespace quern
