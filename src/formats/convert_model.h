// Rewrites a model as one file or several, in either byte order, without touching its values.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/byte_progress.h"
#include "formats/gguf_reader.h"

namespace quern {

// What the copies look like. A plain value.
struct ConvertOptions {
  std::endian order = std::endian::little;
  // The most bytes of weights in one file; a larger tensor has a file of its own. 0: one file.
  int64_t part_bytes = 0;
};

// What was written.
struct ConvertReport {
  std::vector<std::string> paths;
  int64_t num_tensors = 0;
  int64_t weight_bytes = 0;
};

inline constexpr int64_t kMaxWrittenParts = 500;  // all are open until the end

// Several files are named "model-00001-of-00003.gguf" after `path` "model.gguf"; the metadata is in
// the first. They appear together, after the last byte is written. A model that fits one part is
// written to `path` itself. Errors: those of GgufWriter; kInvalidArgument for more than
// kMaxWrittenParts.
Result<ConvertReport> convert_model(const GgufFile& source, const std::string& path,
                                    const ConvertOptions& options,
                                    const ByteProgress& progress = {});

}  // namespace quern
