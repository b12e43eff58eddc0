// Streams tensors through the encoders, in parallel over rows.
// Errors are measured on the encoded values; their sums do not depend on the number of threads.
#include "formats/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/fail.h"
#include "base/thread_pool.h"
#include "formats/gguf_split.h"
#include "formats/gguf_writer.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

// 16,384 elements are 64 KiB in f32: source, copy and result of a chunk stay in the caches of a
// core. 64 chunks are about a million elements, a few MiB, between two writes.
constexpr int64_t kChunkElements = 16384;  // about what a thread does at a time
constexpr int64_t kBatchChunks = 64;       // between two writes

// Sums for the root mean square error, in f64.
struct ErrorSums {
  double error = 0;    // sum of squared differences
  double squares = 0;  // sum of squared values
};

// What one thread found in its rows.
struct ChunkResult {
  ErrorSums sums;
  int64_t bad_row = -1;  // the first row with a value that cannot be stored
  float bad_value = 0;
};

// A tensor on its way, as rows.
struct RowJob {
  DType from;
  DType to;
  int64_t row_length;
  int64_t num_rows;
  int64_t from_row_bytes;
  int64_t to_row_bytes;
  std::span<const std::byte> source;

  // As many rows as bring a chunk to its size.
  int64_t rows_per_chunk() const { return std::max<int64_t>(1, kChunkElements / row_length); }
};

// Rows in floats, kept by each worker.
struct Scratch {
  std::vector<float> exact;    // the source's values of one row
  std::vector<float> decoded;  // what is read back
};

// One row, and what was lost by it.
void convert_row(const RowJob& job, int64_t row, std::byte* out, Scratch& scratch,
                 ChunkResult& result) {
  const auto n = static_cast<size_t>(job.row_length);
  scratch.exact.resize(n);
  scratch.decoded.resize(n);
  dequantize_row(job.from, job.source.data() + row * job.from_row_bytes, scratch.exact.data(),
                 job.row_length);
  quantize_row(job.to, scratch.exact.data(), out, job.row_length);
  // The error is that of the bytes as they will be read, not of the encoder's own figures.
  dequantize_row(job.to, out, scratch.decoded.data(), job.row_length);
  for (size_t i = 0; i < n; ++i) {
    const double exact = scratch.exact[i];
    const double difference = scratch.decoded[i] - exact;
    result.sums.squares += exact * exact;
    result.sums.error += difference * difference;
  }
  // One test for a whole row: a NaN or an infinity, in the source or in what is read back, makes
  // the sum so. The row is searched only then.
  if (std::isfinite(result.sums.error) || result.bad_row >= 0) return;
  result.bad_row = row;
  for (size_t i = 0; i < n; ++i) {
    // A block with a value that is not finite decodes to nothing finite, so look at the source
    // first.
    result.bad_value = scratch.exact[i];
    if (!std::isfinite(scratch.exact[i])) return;
  }
  for (size_t i = 0; i < n; ++i) {
    result.bad_value = scratch.exact[i];
    if (!std::isfinite(scratch.decoded[i])) return;
  }
}

// Converts tensors one after another, each with all threads. One model each.
class Quantizer {
 public:
  // Borrows writer and progress.
  Quantizer(GgufWriter& writer, int num_threads, int64_t total_bytes, const ByteProgress& progress)
      : writer_(writer),
        pool_(num_threads > 0 ? num_threads : available_cpus()),
        scratch_(static_cast<size_t>(pool_.num_threads())),
        total_bytes_(total_bytes),
        progress_(progress) {}

  // A tensor that keeps its type.
  Result<void> copy(const std::string& name, const Tensor& tensor) {
    QUERN_TRY(writer_.append(name, tensor));
    advance(tensor.size_bytes());
    return {};
  }

  // Fills in the errors of `report`.
  Result<void> convert(const Tensor& tensor, QuantizedTensor& report) {
    QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.host_view());
    const int64_t row_length = report.shape[report.shape.rank() - 1];
    const int64_t num_rows = report.shape.num_elements() / row_length;
    const RowJob job = {report.from,
                        report.to,
                        row_length,
                        num_rows,
                        report.from_bytes / num_rows,
                        report.to_bytes / num_rows,
                        bytes};
    ErrorSums sums;
    const int64_t batch_rows = job.rows_per_chunk() * kBatchChunks;
    for (int64_t row = 0; row < num_rows; row += batch_rows) {
      const int64_t count = std::min(batch_rows, num_rows - row);
      QUERN_TRY(convert_batch(job, row, count, report.name, sums));
      advance(count * job.from_row_bytes);
    }
    const auto n = static_cast<double>(report.shape.num_elements());
    report.rmse = std::sqrt(sums.error / n);
    report.relative = sums.squares > 0 ? std::sqrt(sums.error / sums.squares) : 0;
    return {};
  }

 private:
  // Rows of one chunk, in parallel; the order of sums does not depend on the threads.
  Result<void> convert_batch(const RowJob& job, int64_t first, int64_t count,
                             const std::string& name, ErrorSums& sums) {
    out_.resize(static_cast<size_t>(count * job.to_row_bytes));
    const int64_t per_chunk = job.rows_per_chunk();
    const int64_t num_chunks = (count + per_chunk - 1) / per_chunk;
    std::vector<ChunkResult> results(static_cast<size_t>(num_chunks));
    pool_.run(num_chunks, [&](int64_t chunk, int thread) {
      const int64_t end = std::min((chunk + 1) * per_chunk, count);
      for (int64_t i = chunk * per_chunk; i < end; ++i) {
        convert_row(job, first + i, out_.data() + i * job.to_row_bytes,
                    scratch_[static_cast<size_t>(thread)], results[static_cast<size_t>(chunk)]);
      }
    });
    // In the order of chunks, whose size depends on the row length alone: the sums have the same
    // bits for every number of threads.
    for (const ChunkResult& result : results) {
      if (result.bad_row >= 0) return refuse(job, name, result);
      sums.error += result.sums.error;
      sums.squares += result.sums.squares;
    }
    return writer_.append(name, out_);
  }

  // Values that no block can hold: NaN and infinity.
  static Result<void> refuse(const RowJob& job, const std::string& name,
                             const ChunkResult& result) {
    if (!std::isfinite(result.bad_value)) {
      return fail::invalid("Tensor '{}' has the value {} in row {}; weights must be finite.", name,
                           result.bad_value, result.bad_row);
    }
    return fail::invalid(
        "Tensor '{}' has the value {} in row {}, which passes the range of {}; keep it as f32.",
        name, result.bad_value, result.bad_row, dtype_name(job.to));
  }

  // Tells the caller.
  void advance(int64_t bytes) {
    done_bytes_ += bytes;
    if (progress_) progress_(done_bytes_, total_bytes_);
  }

  GgufWriter& writer_;
  ThreadPool pool_;
  std::vector<Scratch> scratch_;  // one for each thread
  std::vector<std::byte> out_;
  int64_t done_bytes_ = 0;
  int64_t total_bytes_;
  const ByteProgress& progress_;
};

// The source's metadata, with the file type and version of the new one.
Metadata output_metadata(const GgufFile& source, const QuantMixture& mixture,
                         const std::vector<TypeChoice>& choices) {
  Metadata metadata = without_split_keys(source.metadata());
  metadata.set("general.file_type", MetadataValue::number(mixture.file_type));
  // Version 2 is the layout that all block formats here have; files of floats have no such key.
  const bool has_blocks = std::ranges::any_of(
      choices, [](const TypeChoice& choice) { return is_quantized(choice.dtype); });
  if (has_blocks) {
    metadata.set("general.quantization_version", MetadataValue::number(uint32_t{2}));
  }
  return metadata;
}

// Sentences on rows that do not fit the blocks of the wanted format.
void add_notes(const std::vector<WeightInfo>& tensors, const std::vector<TypeChoice>& choices,
               QuantizeReport& report) {
  // By row length, wanted and given format: one sentence for each kind, not for each matrix.
  std::map<std::pair<int64_t, std::pair<DType, DType>>, int> replaced;
  std::set<std::string_view> old_formats;
  int num_quantized = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TypeChoice& choice = choices[i];
    if (!choice.is_converted) continue;
    const Shape& shape = tensors[i].shape;
    if (choice.dtype != choice.wanted) {
      ++replaced[{shape[shape.rank() - 1], {choice.wanted, choice.dtype}}];
    }
    if (is_quantized(tensors[i].dtype) && tensors[i].dtype != choice.dtype) {
      ++num_quantized;
      old_formats.insert(dtype_name(tensors[i].dtype));
    }
  }
  for (const auto& [what, count] : replaced) {
    const auto [wanted, given] = what.second;
    report.notes.push_back(fmt::format(
        "{} matrices have rows of {}, not a multiple of the {} block of {}; they are {}.", count,
        what.first, dtype_name(wanted), dtype_info(wanted).block_size, dtype_name(given)));
  }
  if (num_quantized == 0) return;
  report.notes.push_back(fmt::format(
      "{} matrices were quantised already ({}); their errors add to those of the source, which "
      "this report does not know.",
      num_quantized, fmt::join(old_formats, ", ")));
}

// What will be written, before anything is.
Result<QuantizeReport> plan_report(const QuantMixture& mixture,
                                   const std::vector<WeightInfo>& tensors,
                                   const std::vector<TypeChoice>& choices) {
  QuantizeReport report;
  report.type = mixture.name;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const WeightInfo& info = tensors[i];
    QuantizedTensor row = {info.name, info.shape, info.dtype, choices[i].dtype};
    QUERN_ASSIGN_OR_RETURN(row.from_bytes, dense_size_bytes(row.from, row.shape));
    QUERN_ASSIGN_OR_RETURN(row.to_bytes, dense_size_bytes(row.to, row.shape));
    report.num_elements += row.shape.num_elements();
    report.from_bytes += row.from_bytes;
    report.to_bytes += row.to_bytes;
    report.tensors.push_back(std::move(row));
  }
  add_notes(tensors, choices, report);
  return report;
}

}  // namespace

// Errors: a type that is not known, tensors that cannot be read, those of writing.
Result<QuantizeReport> quantize_model(const GgufFile& source, const std::string& path,
                                      const QuantizeOptions& options,
                                      const ByteProgress& progress) {
  QUERN_ASSIGN_OR_RETURN(const QuantMixture mixture, find_quant_mixture(options.type));
  QUERN_TRY(source.check_is_no_part(path));
  std::vector<WeightInfo> tensors = source.list();
  QUERN_ASSIGN_OR_RETURN(const auto choices, choose_types(source.metadata(), tensors, mixture,
                                                          options.keep, options.is_pure));
  QUERN_ASSIGN_OR_RETURN(QuantizeReport report, plan_report(mixture, tensors, choices));
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].dtype = choices[i].dtype;
  QUERN_ASSIGN_OR_RETURN(
      GgufWriter writer,
      GgufWriter::create(path, output_metadata(source, mixture, choices), std::move(tensors)));
  Quantizer quantizer(writer, options.num_threads, report.from_bytes, progress);
  for (QuantizedTensor& row : report.tensors) {
    QUERN_ASSIGN_OR_RETURN(const Tensor tensor, source.weight(row.name));
    if (row.from == row.to) {
      QUERN_TRY(quantizer.copy(row.name, tensor));
    } else {
      QUERN_TRY(quantizer.convert(tensor, row));
    }
  }
  QUERN_TRY(writer.finish());
  return report;
}

}  // namespace quern
