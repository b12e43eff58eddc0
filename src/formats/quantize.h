// Rewrites a model in other formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/byte_progress.h"
#include "formats/gguf_reader.h"
#include "formats/quantize_types.h"

namespace quern {

// What to write. A plain value.
struct QuantizeOptions {
  std::string type = "Q4_K_M";  // a name of quant_mixtures()
  // Formats that the user demands; the first rule that matches a matrix decides.
  std::vector<KeepRule> keep;
  // Every matrix gets the base format of the type, the head too.
  bool is_pure = false;
  int num_threads = 0;  // 0: those this process may use
};

// One tensor of the report.
struct QuantizedTensor {
  std::string name;
  Shape shape;
  DType from;
  DType to;
  int64_t from_bytes = 0;
  int64_t to_bytes = 0;
  // Root mean square of the difference to the source's values, and the same over that of the
  // values; both 0 for tensors that were copied. The same for every number of threads.
  double rmse = 0;
  // Of the root mean square of the values.
  double relative = 0;
};

// What was written.
struct QuantizeReport {
  std::string type;
  // A row for each tensor, those that are copied too.
  std::vector<QuantizedTensor> tensors;  // in the file's order
  int64_t num_elements = 0;
  int64_t from_bytes = 0;  // of weights
  // Of all tensors.
  int64_t to_bytes = 0;
  // Full sentences: tensors that were quantised already, and those that got another format because
  // of the length of their rows.
  std::vector<std::string> notes;

  // Of everything that is stored as weights.
  double bits_per_weight() const {
    return num_elements == 0
               ? 0
               : 8 * static_cast<double>(to_bytes) / static_cast<double>(num_elements);
  }
};

// Writes one little-endian file. A few MiB are in memory at a time beside a mapped source.
// A tensor that has its format already is copied bit for bit; other quantised ones are dequantised
// first. Sets general.file_type and general.quantization_version.
// Errors: those of find_quant_mixture, choose_types and GgufWriter; kInvalidArgument for a weight
// that is not finite, or that is too large for f16, naming tensor and row.
Result<QuantizeReport> quantize_model(const GgufFile& source, const std::string& path,
                                      const QuantizeOptions& options,
                                      const ByteProgress& progress = {});

}  // namespace quern
