// Deals tensors to files and copies them.
// A file is filled until the next tensor would pass the limit; tensors are never cut.
#include "formats/convert_model.h"

#include <filesystem>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "formats/gguf_split.h"
#include "formats/gguf_types.h"
#include "formats/gguf_writer.h"

namespace quern {
namespace {

using Part = std::vector<WeightInfo>;

// Tensors stay in order; a part ends where the next tensor would pass the limit.
Result<std::vector<Part>> plan_parts(const GgufFile& source, int64_t part_bytes) {
  std::vector<Part> parts(1);
  int64_t filled = 0;
  for (const GgufTensor& tensor : source.tensors()) {
    // With its padding, so that the sum is what the file will have.
    const int64_t size = round_up(tensor.size_bytes, source.alignment());
    // An empty part takes any tensor: one that is larger than the limit has a file of its own.
    if (part_bytes > 0 && !parts.back().empty() && size > part_bytes - filled) {
      parts.emplace_back();
      filled = 0;
    }
    parts.back().push_back({tensor.name, tensor.dtype, tensor.shape});
    filled += size;
  }
  if (static_cast<int64_t>(parts.size()) > kMaxWrittenParts) {
    return fail::invalid("Parts of {} bytes would be {} files; the limit is {}.", part_bytes,
                         parts.size(), kMaxWrittenParts);
  }
  return parts;
}

// The first part has all keys, the others those of their place and the alignment.
// Errors: more tensors than a set of parts can count.
Result<Metadata> part_metadata(const GgufFile& source, const SplitPlace& place) {
  Metadata metadata;
  if (place.index == 0) {
    metadata = without_split_keys(source.metadata());
  } else if (const MetadataValue* value = source.metadata().peek(gguf::kAlignmentKey)) {
    // Each part is read on its own: without the key its offsets would be taken for multiples of 32.
    metadata.set(std::string(gguf::kAlignmentKey), *value);
  }
  if (place.count > 1) QUERN_TRY(set_split_place(metadata, place));
  return metadata;
}

// "model-00002-of-00003.gguf" where there are several parts.
std::string part_path(const std::string& path, const SplitPlace& place) {
  if (place.count == 1) return path;
  std::string_view prefix = path;
  if (prefix.ends_with(".gguf")) prefix.remove_suffix(5);
  return split_part_path(prefix, place.index, place.count);
}

// All parts or none: a set that is not whole is of no use.
Result<void> finish_all(std::vector<GgufWriter>& writers, const std::vector<std::string>& paths) {
  for (size_t i = 0; i < writers.size(); ++i) {
    const auto finished = writers[i].finish();
    if (finished) continue;
    for (size_t written = 0; written < i; ++written) {
      std::error_code error;
      std::filesystem::remove(paths[written], error);
    }
    return finished;
  }
  return {};
}

}  // namespace

// Tensors keep their order; the first part has all metadata.
Result<ConvertReport> convert_model(const GgufFile& source, const std::string& path,
                                    const ConvertOptions& options, const ByteProgress& progress) {
  if (options.part_bytes < 0) {
    return fail::invalid("The size of a part is {} bytes; it must be positive.",
                         options.part_bytes);
  }
  QUERN_ASSIGN_OR_RETURN(const auto parts, plan_parts(source, options.part_bytes));
  ConvertReport report;
  report.num_tensors = static_cast<int64_t>(source.tensors().size());
  for (const GgufTensor& tensor : source.tensors()) report.weight_bytes += tensor.size_bytes;
  const auto place_of = [&](size_t i) -> SplitPlace {
    return {static_cast<int64_t>(i), static_cast<int64_t>(parts.size()), report.num_tensors};
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    report.paths.push_back(part_path(path, place_of(i)));
    // Before the first byte is written: a source that is mapped would change under the copy.
    QUERN_TRY(source.check_is_no_part(report.paths.back()));
  }
  std::vector<GgufWriter> writers;
  int64_t done = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    QUERN_ASSIGN_OR_RETURN(const Metadata metadata, part_metadata(source, place_of(i)));
    QUERN_ASSIGN_OR_RETURN(GgufWriter writer,
                           GgufWriter::create(report.paths[i], metadata, parts[i], options.order));
    for (const WeightInfo& info : parts[i]) {
      QUERN_ASSIGN_OR_RETURN(const Tensor tensor, source.weight(info.name));
      QUERN_TRY(writer.append(info.name, tensor));
      done += tensor.size_bytes();
      if (progress) progress(done, report.weight_bytes);
    }
    writers.push_back(std::move(writer));
  }
  QUERN_TRY(finish_all(writers, report.paths));
  return report;
}

}  // namespace quern
