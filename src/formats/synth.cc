// Plans the tensors of a synthetic model and writes them piece by piece.
// Nothing is held in memory but the piece that is written.
#include "formats/synth.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/fail.h"
#include "base/hash.h"
#include "formats/gguf_writer.h"
#include "formats/row_fallback.h"
#include "formats/synth_random.h"
#include "formats/synth_vocabulary.h"

namespace quern {
namespace {

// Written at a time: large models need little memory.
constexpr int64_t kPieceBytes = int64_t{1} << 20;

// Collects tensors in the order they are written.
class Plan {
 public:
  // The tensors of a model, before they are filled.
  explicit Plan(DType dtype) : dtype_(dtype) {}

  // Norms stay f32, as converters write them.
  // A vector in f32.
  void norm(const std::string& name, int64_t width) {
    tensors_.push_back({name + ".weight", DType::kF32, Shape{width}});
  }
  // A matrix in the wanted type, or in one that its rows fit.
  void matrix(const std::string& name, int64_t rows, int64_t columns) {
    const DType dtype = dtype_for_rows(dtype_, columns);
    if (dtype != dtype_) ++num_replaced_[{columns, dtype}];
    tensors_.push_back({name + ".weight", dtype, Shape{rows, columns}});
  }
  // In the order of the file.
  const std::vector<WeightInfo>& tensors() const { return tensors_; }
  // One sentence for each type that was replaced.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const auto& [what, count] : num_replaced_) {
      notes.push_back(fmt::format(
          "{} matrices have rows of {}, not a multiple of the {} block of {}; they are {}.", count,
          what.first, dtype_name(dtype_), dtype_info(dtype_).block_size, dtype_name(what.second)));
    }
    return notes;
  }

 private:
  DType dtype_;
  std::vector<WeightInfo> tensors_;
  std::map<std::pair<int64_t, DType>, int> num_replaced_;
};

// Names and shapes as converters of real models write them.
Plan plan_tensors(const SynthShape& s, DType dtype) {
  Plan plan(dtype);
  const int64_t kv_width = s.num_kv_heads * s.head_dim();
  plan.matrix("token_embd", s.vocab, s.hidden);
  for (int64_t layer = 0; layer < s.num_layers; ++layer) {
    const std::string block = fmt::format("blk.{}.", layer);
    plan.norm(block + "attn_norm", s.hidden);
    plan.matrix(block + "attn_q", s.hidden, s.hidden);
    plan.matrix(block + "attn_k", kv_width, s.hidden);
    plan.matrix(block + "attn_v", kv_width, s.hidden);
    plan.matrix(block + "attn_output", s.hidden, s.hidden);
    plan.norm(block + "ffn_norm", s.hidden);
    plan.matrix(block + "ffn_gate", s.ffn, s.hidden);
    plan.matrix(block + "ffn_up", s.ffn, s.hidden);
    plan.matrix(block + "ffn_down", s.hidden, s.ffn);
  }
  plan.norm("output_norm", s.hidden);
  if (!s.is_tied) plan.matrix("output", s.vocab, s.hidden);
  return plan;
}

// What readers of the family need.
Metadata make_metadata(const SynthShape& s, const SynthOptions& options) {
  Metadata m;
  const auto size = [&](const std::string& key, int64_t value) {
    m.set("llama." + key, MetadataValue::number(static_cast<uint32_t>(value)));
  };
  m.set("general.architecture", MetadataValue::text("llama"));
  m.set("general.type", MetadataValue::text("model"));
  m.set("general.name",
        MetadataValue::text(fmt::format("synthetic {} {}", s.name, dtype_name(options.dtype))));
  size("block_count", s.num_layers);
  size("context_length", s.context);
  size("embedding_length", s.hidden);
  size("feed_forward_length", s.ffn);
  size("attention.head_count", s.num_heads);
  size("attention.head_count_kv", s.num_kv_heads);
  m.set("llama.attention.layer_norm_rms_epsilon", MetadataValue::number(1e-5F));
  size("rope.dimension_count", s.head_dim());
  m.set("llama.rope.freq_base", MetadataValue::number(static_cast<float>(s.rope_base)));
  size("vocab_size", s.vocab);
  if (is_quantized(options.dtype)) {
    m.set("general.quantization_version", MetadataValue::number(uint32_t{2}));
  }
  add_synth_vocabulary(m, s.vocab, s.pre_tokenizer);
  return m;
}

// Around 1, so that a norm that is left out shows.
std::vector<float> random_norm(SplitMix64& random, int64_t width) {
  std::vector<float> values(static_cast<size_t>(width));
  for (float& value : values) value = static_cast<float>(0.75 + 0.5 * random.uniform());
  return values;
}

// Writes tensors and tells the caller how far it is.
class WeightWriter {
 public:
  // Fills tensors in pieces and tells how far it is.
  WeightWriter(GgufWriter& writer, float stddev, uint64_t seed, int64_t total_bytes,
               const SynthProgress& progress)
      : writer_(writer),
        stddev_(stddev),
        seed_(seed),
        total_bytes_(total_bytes),
        progress_(progress) {}

  // A tensor's bytes depend on the seed and its name only.
  Result<void> write(const WeightInfo& info) {
    // A stream for each tensor: adding a tensor to the plan does not change the others.
    SplitMix64 random(Hasher().number(seed_).text(info.name).digest());
    if (info.shape.rank() == 1) {
      const auto values = random_norm(random, info.shape[0]);
      return append(info.name, std::as_bytes(std::span(values)));
    }
    QUERN_ASSIGN_OR_RETURN(int64_t left, dense_size_bytes(info.dtype, info.shape));
    const int64_t block_bytes = dtype_info(info.dtype).block_bytes;
    std::vector<std::byte> piece;
    for (; left > 0; left -= static_cast<int64_t>(piece.size())) {
      // Whole blocks: the largest multiple of a block below a MiB.
      piece.resize(static_cast<size_t>(std::min(left, kPieceBytes / block_bytes * block_bytes)));
      fill_random_weights(info.dtype, stddev_, random, piece);
      QUERN_TRY(append(info.name, piece));
    }
    return {};
  }

 private:
  // Errors: those of writing.
  Result<void> append(const std::string& name, std::span<const std::byte> bytes) {
    QUERN_TRY(writer_.append(name, bytes));
    done_bytes_ += static_cast<int64_t>(bytes.size());
    if (progress_) progress_(done_bytes_, total_bytes_);
    return {};
  }

  GgufWriter& writer_;
  float stddev_;
  uint64_t seed_;
  int64_t done_bytes_ = 0;
  int64_t total_bytes_;
  const SynthProgress& progress_;
};

// Sums over the plan.
Result<SynthReport> report_on(const Plan& plan) {
  SynthReport report;
  report.notes = plan.notes();
  for (const WeightInfo& info : plan.tensors()) {
    QUERN_ASSIGN_OR_RETURN(const int64_t bytes, dense_size_bytes(info.dtype, info.shape));
    ++report.num_tensors;
    report.num_parameters += info.shape.num_elements();
    report.weight_bytes += bytes;
  }
  return report;
}

}  // namespace

Result<SynthReport> write_synthetic_model(const std::string& path, const SynthOptions& options,
                                          const SynthProgress& progress) {
  QUERN_ASSIGN_OR_RETURN(const SynthShape shape, find_synth_shape(options.shape));
  if (!has_random_weights(options.dtype)) {
    return fail::invalid(
        "Weights cannot be of dtype {}; f32, f16, bf16 and the quantised formats but q8_K are "
        "possible.",
        dtype_name(options.dtype));
  }
  const Plan plan = plan_tensors(shape, options.dtype);
  QUERN_ASSIGN_OR_RETURN(SynthReport report, report_on(plan));
  QUERN_ASSIGN_OR_RETURN(GgufWriter writer,
                         GgufWriter::create(path, make_metadata(shape, options), plan.tensors()));
  WeightWriter weights(writer, shape.weight_stddev(), options.seed, report.weight_bytes, progress);
  for (const WeightInfo& info : plan.tensors()) QUERN_TRY(weights.write(info));
  QUERN_TRY(writer.finish(Durability::kProcess));
  return report;
}

}  // namespace quern
