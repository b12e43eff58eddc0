#include "formats/synth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "formats/gguf_reader.h"
#include "formats/model_metadata.h"
#include "formats/synth_random.h"
#include "formats/synth_vocabulary.h"
#include "support/temporary_folder.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

// All bytes of a file.
std::string content(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Every type, decoded and measured.
void expect_spread(float stddev) {
  int num_types = 0;
  for (const DTypeInfo& info : all_dtypes()) {
    if (!has_random_weights(info.dtype)) continue;
    // About 400,000 elements: the standard error of the mean is 0.16 % of the deviation for
    // independent elements, and larger here, since elements of a block share its scale.
    const int64_t num_blocks = 400'000 / info.block_size;
    std::vector<std::byte> blocks(static_cast<size_t>(num_blocks * info.block_bytes));
    SplitMix64 random(5);
    fill_random_weights(info.dtype, stddev, random, blocks);
    std::vector<float> values(static_cast<size_t>(num_blocks * info.block_size));
    dequantize_row(info.dtype, blocks.data(), values.data(), static_cast<int64_t>(values.size()));
    double sum = 0;
    double squares = 0;
    for (const float x : values) {
      sum += x;
      squares += double{x} * x;
    }
    const auto count = static_cast<double>(values.size());
    EXPECT_NEAR(sum / count, 0, 0.025 * stddev) << info.name;
    // Blocks are few and differ, and the smallest f16 scales are coarse: hence the width.
    EXPECT_NEAR(std::sqrt(squares / count), stddev, 0.03 * stddev) << info.name;
    ++num_types;
  }
  // f32, f16 and bf16, and every block format but q8_K.
  EXPECT_EQ(num_types, 3 + 25);
}

// Decoded again and measured.
TEST(Synth, WeightsOfEveryTypeHaveTheSpreadAskedFor) {
  expect_spread(0.02F);
  expect_spread(0.1F);
}

// Any reader of the family takes it.
TEST(Synth, FileIsAWholeModel) {
  const test::TemporaryFolder folder("synth");
  int64_t last_done = 0;
  const auto report = write_synthetic_model(folder.file("a.gguf"), {"tiny", DType::kQ4_0, 1},
                                            [&](int64_t done, int64_t total) {
                                              EXPECT_GT(done, last_done);
                                              EXPECT_LE(done, total);
                                              last_done = done;
                                            });
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->weight_bytes, last_done);
  EXPECT_TRUE(report->notes.empty());
  const auto file = GgufFile::open(folder.file("a.gguf"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(check_model_metadata((*file)->metadata()));
  // The embedding, nine tensors in each of two layers, the last norm; the head is tied.
  EXPECT_EQ((*file)->tensors().size(), 1U + 2 * 9 + 1);
  EXPECT_EQ((*file)->info("blk.1.ffn_down.weight")->shape, (Shape{64, 160}));
  EXPECT_EQ((*file)->info("blk.1.attn_k.weight")->shape, (Shape{32, 64}));
  EXPECT_EQ((*file)->info("blk.1.attn_k.weight")->dtype, DType::kQ4_0);
  EXPECT_EQ((*file)->info("output_norm.weight")->dtype, DType::kF32);
  EXPECT_FALSE((*file)->info("output.weight"));
}

// On every machine.
TEST(Synth, SameOptionsGiveTheSameBytes) {
  const test::TemporaryFolder folder("synth");
  ASSERT_TRUE(write_synthetic_model(folder.file("a"), {"tiny", DType::kF16, 7}));
  ASSERT_TRUE(write_synthetic_model(folder.file("b"), {"tiny", DType::kF16, 7}));
  ASSERT_TRUE(write_synthetic_model(folder.file("c"), {"tiny", DType::kF16, 8}));
  EXPECT_EQ(content(folder.file("a")), content(folder.file("b")));
  EXPECT_NE(content(folder.file("a")), content(folder.file("c")));
}

// As the quantiser does it.
TEST(Synth, RowsThatDoNotFitTakeAnotherTypeAndSaySo) {
  const test::TemporaryFolder folder("synth");
  const auto report = write_synthetic_model(folder.file("a"), {"tiny", DType::kQ4_K, 0});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->notes,
            (std::vector<std::string>{
                // The embedding and six matrices in each of two layers; ffn_down has the rows of
                // 160.
                "13 matrices have rows of 64, not a multiple of the q4_K block of 256; they are "
                "q5_0.",
                "2 matrices have rows of 160, not a multiple of the q4_K block of 256; they are "
                "q5_0."}));
  const auto fitting = write_synthetic_model(folder.file("b"), {"tiny-k", DType::kQ4_K, 0});
  ASSERT_TRUE(fitting);
  EXPECT_TRUE(fitting->notes.empty());
  const auto file = GgufFile::open(folder.file("b"));
  EXPECT_EQ((*file)->info("output.weight")->dtype, DType::kQ4_K);
}

// Encoders are not needed.
TEST(Synth, EveryTypeMakesAReadableFile) {
  const test::TemporaryFolder folder("synth");
  for (const DTypeInfo& info : all_dtypes()) {
    for (const char* shape : {"tiny", "tiny-k"}) {
      const auto report = write_synthetic_model(folder.file("x"), {shape, info.dtype, 0});
      EXPECT_EQ(report.has_value(), has_random_weights(info.dtype)) << info.name;
      if (!report) continue;
      const auto file = GgufFile::open(folder.file("x"));
      EXPECT_TRUE(file) << info.name;
    }
  }
}

// So that any text has tokens.
TEST(Synth, VocabularyHoldsEveryByteMergeAndNoDuplicate) {
  Metadata m;
  add_synth_vocabulary(m, 512, "smollm");
  const auto tokens = m.texts("tokenizer.ggml.tokens").value();
  std::set<std::string_view> unique;
  for (int64_t i = 0; i < tokens.size(); ++i) unique.insert(tokens[i]);
  EXPECT_EQ(unique.size(), 512U);
  const auto merges = m.texts("tokenizer.ggml.merges").value();
  ASSERT_GT(merges.size(), 0);
  for (int64_t i = 0; i < merges.size(); ++i) {
    const size_t space = merges[i].find(' ');
    const auto left = merges[i].substr(0, space);
    const auto right = merges[i].substr(space + 1);
    EXPECT_TRUE(unique.contains(left)) << merges[i];
    EXPECT_TRUE(unique.contains(right)) << merges[i];
    EXPECT_TRUE(unique.contains(std::string(left).append(right))) << merges[i];
  }
  for (const char* byte : {"!", "~", "Ġ", "Ċ", "ÿ", "Ń"}) {
    EXPECT_TRUE(unique.contains(byte)) << byte;  // ! ~ space newline 0xff 0xad
  }
  EXPECT_LE(min_synth_vocabulary(), 512);
}

// In the order of the help.
TEST(Synth, UnknownShapesListTheKnown) {
  const auto shape = find_synth_shape("gpt-9");
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(shape.error().message,
            "There is no synthetic shape 'gpt-9'; the shapes are 'tiny', 'tiny-k', "
            "'smollm2-135m', 'tinyllama-1.1b', 'llama-3.2-1b'.");
}

}  // namespace
}  // namespace quern
