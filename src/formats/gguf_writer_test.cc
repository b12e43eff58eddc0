#include "formats/gguf_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "formats/gguf_reader.h"
#include "formats/gguf_types.h"
#include "support/temporary_folder.h"

namespace quern {
namespace {

template <class T>
void add_number(Metadata& m, const std::string& name) {
  const std::array<T, 3> values = {std::numeric_limits<T>::lowest(), T{1},
                                   std::numeric_limits<T>::max()};
  m.set(name + ".low", MetadataValue::number(values[0]));
  m.set(name + ".high", MetadataValue::number(values[2]));
  m.set(name + ".array", MetadataValue::numbers<T>(values));
  m.set(name + ".empty", MetadataValue::numbers<T>({}));
}

// A key of each type, alone and as an array.
Metadata every_type() {
  Metadata m;
  m.set("general.architecture", MetadataValue::text("test"));
  // Not the default: every offset below must be a multiple of 64, and is read with it.
  m.set("general.alignment", MetadataValue::number<uint32_t>(64));
  add_number<uint8_t>(m, "u8");
  add_number<int8_t>(m, "i8");
  add_number<uint16_t>(m, "u16");
  add_number<int16_t>(m, "i16");
  add_number<uint32_t>(m, "u32");
  add_number<int32_t>(m, "i32");
  add_number<uint64_t>(m, "u64");
  add_number<int64_t>(m, "i64");
  add_number<float>(m, "f32");
  add_number<double>(m, "f64");
  add_number<bool>(m, "bool");
  m.set("nan", MetadataValue::number(std::numeric_limits<double>::quiet_NaN()));
  m.set("text.empty", MetadataValue::text(""));
  // Texts are sized, not ended by NUL, and need be no UTF-8.
  m.set("text.bytes", MetadataValue::text(std::string_view("\0\xff\n", 3)));
  m.set("texts", MetadataValue::texts(std::array<std::string_view, 3>{"a", "", "\xc3\xa9"}));
  m.set("texts.empty", MetadataValue::texts({}));
  return m;
}

// Two rows of one block, with different bytes for each dtype.
Tensor pattern(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(2 * info.block_bytes));
  for (size_t i = 0; i < bytes.size(); ++i) {
    // No two neighbouring bytes are equal, so that a swap that is left out shows.
    bytes[i] = static_cast<std::byte>(31 * i + static_cast<size_t>(dtype));
  }
  return Tensor::from_bytes(dtype, Shape{2, info.block_size}, bytes).value();
}

// Tensors in memory.
class MemorySource final : public WeightSource {
 public:
  void add(const std::string& name, Tensor tensor) { tensors_[name] = std::move(tensor); }
  std::vector<WeightInfo> list() const override {
    std::vector<WeightInfo> result;
    for (const auto& [name, tensor] : tensors_) {
      result.push_back({name, tensor.dtype(), tensor.shape()});
    }
    return result;
  }
  Result<WeightInfo> info(std::string_view) const override { return WeightInfo{}; }
  Result<Tensor> weight(std::string_view name) const override {
    return tensors_.at(std::string(name));
  }

 private:
  std::map<std::string, Tensor> tensors_;
};

// Formats whose fields the byte order defines.
bool has_big_endian_form(DType d) {
  return d != DType::kIQ2_XXS && d != DType::kIQ3_XXS && d != DType::kIQ1_M;
}

// Everything written and read again.
void expect_same_back(std::endian order) {
  const test::TemporaryFolder folder("gguf_writer");
  MemorySource source;
  for (const DTypeInfo& info : all_dtypes()) {
    if (!gguf::tensor_type_id(info.dtype)) continue;
    if (order == std::endian::big && !has_big_endian_form(info.dtype)) continue;
    source.add(std::string(info.name), pattern(info.dtype));
  }
  source.add("scalar", Tensor::zeros(DType::kF32, Shape{}).value());
  source.add("rank4", Tensor::zeros(DType::kI8, Shape{2, 3, 4, 5}).value());
  const std::string path = folder.file("all.gguf");
  const auto written = write_gguf(path, every_type(), source, order);
  ASSERT_TRUE(written) << written.error().message;
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->byte_order(), order);
  EXPECT_EQ((*file)->alignment(), 64);
  EXPECT_EQ((*file)->metadata(), every_type());
  ASSERT_EQ((*file)->tensors().size(), source.list().size());
  for (const WeightInfo& info : source.list()) {
    const auto back = (*file)->weight(info.name);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->dtype(), info.dtype) << info.name;
    EXPECT_EQ(back->shape(), info.shape) << info.name;
    EXPECT_EQ(back->read().value(), source.weight(info.name)->read().value()) << info.name;
    EXPECT_EQ((*file)->find(info.name)->offset % 64, 0);
  }
}

// Whatever the reader takes.
TEST(GgufWriter, EveryMetadataTypeAndDTypeComesBack) {
  expect_same_back(std::endian::little);
}

// But for formats that have no such form.
TEST(GgufWriter, EveryMetadataTypeAndDTypeComesBackBigEndian) {
  expect_same_back(std::endian::big);
}

// Scales are swapped, codes are not.
TEST(GgufWriter, BigEndianBlocksHoldSwappedFields) {
  const test::TemporaryFolder folder("gguf_writer");
  MemorySource source;
  source.add("w", pattern(DType::kQ5_0));
  ASSERT_TRUE(write_gguf(folder.file("x"), Metadata(), source, std::endian::big));
  ASSERT_TRUE(write_gguf(folder.file("y"), Metadata(), source, std::endian::little));
  const auto tail = [&](std::string_view name) {
    const auto bytes = std::filesystem::file_size(folder.file(name));
    std::ifstream stream(folder.file(name), std::ios::binary);
    std::string text(bytes, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(bytes));
    // The header of one tensor "w" ends before byte 64; 22 bytes are one block of q5_0.
    return text.substr(64, 22);
  };
  const std::string big = tail("x");
  const std::string little = tail("y");
  // q5_0: an f16 scale in bytes 0-1, the fifth bits in bytes 2-5, nibbles behind.
  const std::array<size_t, 6> order = {1, 0, 5, 4, 3, 2};
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(big[i], little[order[i]]) << i;
  EXPECT_EQ(big.substr(6), little.substr(6));
}

// As many tokens as the largest vocabularies have; the bound is loose for busy machines.
TEST(GgufWriter, LargeVocabularyLoadsFast) {
  constexpr int64_t kNumTokens = 262'144;
  std::vector<std::string> tokens;
  for (int64_t i = 0; i < kNumTokens; ++i) tokens.push_back("token" + std::to_string(i));
  const std::vector<std::string_view> views(tokens.begin(), tokens.end());
  Metadata metadata;
  metadata.set("tokenizer.ggml.tokens", MetadataValue::texts(views));
  const test::TemporaryFolder folder("gguf_writer");
  const std::string path = folder.file("vocabulary.gguf");
  auto writer = GgufWriter::create(path, metadata, {});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->finish());
  const auto start = std::chrono::steady_clock::now();
  const auto file = GgufFile::open(path);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(file) << file.error().message;
  const auto back = (*file)->metadata().texts("tokenizer.ggml.tokens");
  ASSERT_EQ(back->size(), kNumTokens);
  EXPECT_EQ((*back)[kNumTokens - 1], "token262143");
  EXPECT_LT(elapsed.count(), 0.5);
  RecordProperty("open_us", static_cast<int>(elapsed.count() * 1e6));
}

template <class T>
std::string message(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

// Large ones are written as they are made.
TEST(GgufWriter, TensorsComeInTurnAndInPieces) {
  const test::TemporaryFolder folder("gguf_writer");
  const std::string path = folder.file("turns.gguf");
  auto writer = GgufWriter::create(path, Metadata(),
                                   {{"a", DType::kF32, Shape{2}}, {"b", DType::kF16, Shape{1}}});
  ASSERT_TRUE(writer) << writer.error().message;
  const std::vector<std::byte> bytes(8);
  const std::span<const std::byte> all(bytes);
  EXPECT_EQ(message(writer->append("b", all.first(2))),
            "Tensor 'b' comes out of turn; 'a' is next and has 0 of 8 bytes.");
  EXPECT_EQ(message(writer->append("a", all.first(3))),
            "A piece of tensor 'a' has 3 bytes, not whole blocks of 4.");
  EXPECT_TRUE(writer->append("a", all.first(4)));
  EXPECT_EQ(message(writer->append("a", all)), "Tensor 'a' has 8 bytes; 8 come after 4.");
  EXPECT_TRUE(writer->append("a", all.first(4)));
  EXPECT_EQ(message(writer->finish()), "The file is incomplete: tensor 'b' has 0 of 2 bytes.");
  EXPECT_EQ(message(writer->append("b", Tensor::zeros(DType::kF32, Shape{1}).value())),
            "Tensor 'b' was declared as f16 [1] and comes as f32 [1].");
  EXPECT_TRUE(writer->append("b", all.first(2)));
  EXPECT_FALSE(writer->append("b", all.first(2)));
  // The file has all its bytes, but no name before finish().
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(writer->finish());
  EXPECT_TRUE(GgufFile::open(path));
}

// Before anything is written.
TEST(GgufWriter, RefusesWhatTheFormatCannotHold) {
  const test::TemporaryFolder folder("gguf_writer");
  const auto error_of = [&](std::vector<WeightInfo> tensors, Metadata metadata = {}) {
    return message(GgufWriter::create(folder.file("bad.gguf"), metadata, std::move(tensors)));
  };
  EXPECT_EQ(error_of({{"a", DType::kU8, Shape{1}}}),
            "Tensor 'a' is of dtype u8, which GGUF has not.");
  EXPECT_EQ(error_of({{"", DType::kF32, Shape{1}}}),
            "The tensor name '' is empty, too long or holds a control character.");
  EXPECT_EQ(error_of({{"a", DType::kF32, Shape{1}}, {"a", DType::kF32, Shape{1}}}),
            "Tensor 'a' occurs twice.");
  EXPECT_EQ(error_of({{"a", DType::kF32, Shape{1, 1, 1, 1, 1}}}),
            "Tensor 'a' has the shape [1, 1, 1, 1, 1]; up to 4 axes, none empty, are needed.");
  EXPECT_EQ(error_of({{"a", DType::kF32, Shape{0}}}),
            "Tensor 'a' has the shape [0]; up to 4 axes, none empty, are needed.");
  EXPECT_EQ(error_of({{"a", DType::kQ8_0, Shape{33}}}),
            "Tensor 'a': The last extent 33 of a q8_0 tensor is not a multiple of its block of "
            "32.");
  Metadata bad_alignment;
  bad_alignment.set("general.alignment", MetadataValue::number<uint32_t>(48));
  EXPECT_EQ(error_of({}, bad_alignment),
            "Metadata key 'general.alignment' is 48; a power of two from 8 to 2^30 is needed.");
  Metadata bad_key;
  bad_key.set("a\tb", MetadataValue::number<uint32_t>(48));
  EXPECT_FALSE(GgufWriter::create(folder.file("bad.gguf"), bad_key, {}));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace quern
