// Opening what a model consists of.
// Overrides stand beside the file's metadata and are checked as if they were part of it.
#include "generate/model_files.h"

#include <utility>

#include "base/fail.h"
#include "formats/gguf_split.h"
#include "formats/model_metadata.h"
#include "text/vocabulary_reader.h"

namespace quern {
namespace {

// A copy with the overrides in place; nothing where there are none.
std::optional<Metadata> with_overrides(const Metadata& metadata,
                                       std::span<const MetadataOverride> overrides) {
  const auto architecture = metadata.text("general.architecture");
  // Without the key, read_model() fails with the right message.
  if (overrides.empty() || !architecture) return std::nullopt;
  Metadata copy = metadata;
  for (const MetadataOverride& item : overrides) {
    // Keys are given without the architecture, as a user need not know how the file calls it.
    copy.set(std::string(*architecture) + "." + item.key, item.value);
  }
  return copy;
}

// Each under a prefix of its own. Errors name the adapter's file.
Result<std::vector<std::shared_ptr<const Adapter>>> open_adapters(
    std::span<const AdapterFile> files, const Metadata& metadata) {
  std::vector<std::shared_ptr<const Adapter>> adapters;
  for (const AdapterFile& item : files) {
    QUERN_ASSIGN_OR_RETURN(const auto file, GgufFile::open(item.path));
    QUERN_ASSIGN_OR_RETURN(const auto architecture, metadata.text("general.architecture"));
    // "lora.0/", "lora.1/", ...: no prefix begins another, as AdaptedWeights needs.
    auto adapter = make_adapter(file->metadata(), file, architecture, item.scale,
                                fmt::format("lora.{}/", adapters.size()));
    if (!adapter) {
      return tl::unexpected(adapter.error().with_context(fmt::format("Adapter '{}'", item.path)));
    }
    adapters.push_back(std::move(*adapter));
  }
  return adapters;
}

// The model's file, or all files of a split one, then the adapters'.
std::vector<std::string> all_paths(const std::string& path, const GgufFile& file,
                                   std::span<const AdapterFile> adapters) {
  std::vector<std::string> paths{path};
  const auto place = read_split_place(file.metadata());
  // Only files that say in their metadata that they are parts, and whose names follow the pattern.
  const auto prefix = place ? split_prefix(path, *place) : std::nullopt;
  for (int part = 1; prefix && part < file.num_parts(); ++part) {
    paths.push_back(split_part_path(*prefix, part, place->count));
  }
  for (const AdapterFile& adapter : adapters) paths.push_back(adapter.path);
  return paths;
}

// Metadata, vocabulary, adapters, graph. Errors of each; the caller adds the path.
Result<void> read_model(ModelFiles& files, std::span<const AdapterFile> adapters) {
  const Metadata& metadata = files.metadata();
  // Format and byte order, before any key is believed.
  QUERN_TRY(check_model_metadata(metadata));
  QUERN_ASSIGN_OR_RETURN(Vocabulary vocabulary, read_vocabulary(metadata));
  QUERN_ASSIGN_OR_RETURN(files.tokenizer, make_tokenizer(std::move(vocabulary)));
  QUERN_ASSIGN_OR_RETURN(files.options.adapters, open_adapters(adapters, metadata));
  QUERN_ASSIGN_OR_RETURN(files.model, build_language_model(metadata, *files.file, files.options));
  return {};
}

}  // namespace

Result<ModelFiles> open_model_files(const std::string& path, const ModelOptions& options,
                                    std::span<const MetadataOverride> overrides,
                                    std::span<const AdapterFile> adapters) {
  ModelFiles files;
  files.options = options;
  QUERN_ASSIGN_OR_RETURN(files.file, GgufFile::open(path));
  files.overridden = with_overrides(files.file->metadata(), overrides);
  files.paths = all_paths(path, *files.file, adapters);
  const auto read = read_model(files, adapters);
  if (!read) {
    return tl::unexpected(read.error().with_context(fmt::format("While loading '{}'", path)));
  }
  return files;
}

}  // namespace quern
