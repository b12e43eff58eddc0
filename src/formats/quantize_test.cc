// Quantised files: values, reported errors, special values, and independence of the threads.
#include "formats/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "formats/gguf_writer.h"
#include "support/temporary_folder.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

// All bytes of a file.
std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Smooth values of both signs.
std::vector<float> wave(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(std::sin(static_cast<float>(i) * 0.37F) * static_cast<float>(1 + i % 7));
  }
  return values;
}

// A matrix of the model that is quantised.
struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

// With what readers of the family need.
void write_f32_file(const std::string& path, const std::vector<NamedTensor>& tensors) {
  Metadata metadata;
  metadata.set("general.architecture", MetadataValue::text("llama"));
  metadata.set("split.count", MetadataValue::number(uint16_t{0}));
  std::vector<WeightInfo> infos;
  for (const NamedTensor& t : tensors) infos.push_back({t.name, DType::kF32, t.shape});
  auto writer = GgufWriter::create(path, metadata, infos);
  ASSERT_TRUE(writer) << writer.error().message;
  for (const NamedTensor& t : tensors) {
    ASSERT_TRUE(writer->append(t.name, std::as_bytes(std::span<const float>(t.values))));
  }
  ASSERT_TRUE(writer->finish(Durability::kProcess));
}

// One of each role.
std::vector<NamedTensor> usual_tensors() {
  return {{"blk.0.attn_q.weight", Shape{70, 512}, wave(70 * 512)},
          {"blk.0.attn_norm.weight", Shape{512}, wave(512)},
          // 172 is no multiple of any block: the matrix must become f16 whatever is wanted. 70 rows
          // of 512 are more than one chunk of 32 rows, and 64 columns fit blocks of 32 but not of
          // 256.
          {"blk.0.ffn_down.weight", Shape{3, 172}, wave(3 * 172)},
          {"output.weight", Shape{5, 64}, wave(5 * 64)}};
}

// A folder with a model in f32.
class Quantize : public testing::Test {
 protected:
  Result<QuantizeReport> run(const std::string& type, int threads = 1,
                             std::vector<KeepRule> keep = {}) {
    const auto source = GgufFile::open(folder_.file("in.gguf"));
    if (!source) return tl::unexpected(source.error());
    return quantize_model(**source, folder_.file("out.gguf"),
                          {type, std::move(keep), false, threads});
  }
  std::string error_of(const std::string& type, const std::vector<NamedTensor>& tensors) {
    write_f32_file(folder_.file("in.gguf"), tensors);
    const auto report = run(type);
    EXPECT_FALSE(std::filesystem::exists(folder_.file("out.gguf")));
    return report ? "no error" : report.error().message;
  }

  const test::TemporaryFolder folder_{"quantize"};
};

// Measured on the file that was written.
TEST_F(Quantize, ReportsTheErrorOfWhatItWrites) {
  const auto tensors = usual_tensors();
  write_f32_file(folder_.file("in.gguf"), tensors);
  for (const QuantMixture& mixture : quant_mixtures()) {
    SCOPED_TRACE(mixture.name);
    const auto report = run(std::string(mixture.name));
    ASSERT_TRUE(report) << report.error().message;
    const auto file = GgufFile::open(folder_.file("out.gguf"));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*file)->metadata().integer("general.file_type").value(), mixture.file_type);
    EXPECT_EQ((*file)->metadata().has("general.quantization_version"), is_quantized(mixture.base));
    EXPECT_FALSE((*file)->metadata().has("split.count"));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const QuantizedTensor& row = report->tensors[i];
      const Tensor tensor = (*file)->weight(tensors[i].name).value();
      ASSERT_EQ(tensor.dtype(), row.to);
      EXPECT_EQ(tensor.size_bytes(), row.to_bytes);
      std::vector<float> decoded(tensors[i].values.size());
      dequantize_row(row.to, tensor.host_view()->data(), decoded.data(),
                     static_cast<int64_t>(decoded.size()));
      double sum = 0;
      for (size_t k = 0; k < decoded.size(); ++k) {
        sum += std::pow(static_cast<double>(decoded[k]) - tensors[i].values[k], 2);
      }
      EXPECT_NEAR(row.rmse, std::sqrt(sum / static_cast<double>(decoded.size())), 1e-9);
    }
    EXPECT_EQ(report->tensors[1].to, DType::kF32);
    if (is_quantized(mixture.base)) {
      EXPECT_EQ(report->tensors[2].to, DType::kF16);
    }
  }
}

// Sums are made in the same order.
TEST_F(Quantize, BytesAndErrorsDoNotDependOnTheThreads) {
  write_f32_file(folder_.file("in.gguf"), usual_tensors());
  const auto one = run("Q4_K_M", 1);
  ASSERT_TRUE(one) << one.error().message;
  const std::string bytes = bytes_of(folder_.file("out.gguf"));
  const auto three = run("Q4_K_M", 3);
  ASSERT_TRUE(three) << three.error().message;
  EXPECT_EQ(bytes_of(folder_.file("out.gguf")), bytes);
  for (size_t i = 0; i < one->tensors.size(); ++i) {
    EXPECT_EQ(one->tensors[i].rmse, three->tensors[i].rmse);
  }
}

// Twice quantised is worse than it looks.
TEST_F(Quantize, SourceThatIsQuantisedAlreadyIsCopiedOrNoted) {
  write_f32_file(folder_.file("in.gguf"), usual_tensors());
  ASSERT_TRUE(run("q8_0"));
  std::filesystem::rename(folder_.file("out.gguf"), folder_.file("in.gguf"));
  const auto copied = run("q8_0");
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(bytes_of(folder_.file("out.gguf")), bytes_of(folder_.file("in.gguf")));
  // Copied bit for bit, hence without an error of its own.
  EXPECT_EQ(copied->tensors[0].rmse, 0);
  const auto again = run("q4_0");
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_FALSE(again->notes.empty());
  EXPECT_EQ(again->notes.back(),
            "1 matrices were quantised already (q8_0); their errors add to those of the source, "
            "which this report does not know.");
}

// They get the nearest format that fits.
TEST_F(Quantize, RowsThatDoNotFitAreNoted) {
  write_f32_file(folder_.file("in.gguf"), usual_tensors());
  const auto report = run("q4_0", 1, {{"attn_q", DType::kBF16}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->tensors[0].to, DType::kBF16);
  EXPECT_EQ(report->notes,
            (std::vector<std::string>{
                "1 matrices have rows of 64, not a multiple of the q6_K block of 256; they are "
                "q8_0.",
                "1 matrices have rows of 172, not a multiple of the q4_0 block of 32; they are "
                "f16."}));
}

// Infinity and NaN would spread over their block.
TEST_F(Quantize, WeightsThatCannotBeStoredAreErrors) {
  auto tensors = usual_tensors();
  tensors[0].values[3 * 512 + 5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_of("q4_0", tensors),
            "Tensor 'blk.0.attn_q.weight' has the value nan in row 3; weights must be finite.");
  tensors[0].values[3 * 512 + 5] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_of("mxfp4", tensors),
            "Tensor 'blk.0.attn_q.weight' has the value -inf in row 3; weights must be finite.");
  // Past 65,504, the largest f16, but fine for a format with a scale.
  tensors[0].values[3 * 512 + 5] = 70000;
  EXPECT_EQ(error_of("f16", tensors),
            "Tensor 'blk.0.attn_q.weight' has the value 70000 in row 3, which passes the range of "
            "f16; keep it as f32.");
  EXPECT_EQ(error_of("q4", tensors).substr(0, 4), "'q4'");
}

}  // namespace
}  // namespace quern
