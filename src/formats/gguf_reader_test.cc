#include "formats/gguf_reader.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "formats/gguf_test_bytes.h"
#include "formats/model_metadata.h"

namespace quern {
namespace {

// Why the bytes cannot be read.
std::string error_of(const GgufBytes& bytes) {
  const auto file = bytes.parse();
  return file ? "no error" : file.error().message;
}

// Two f32 tensors behind one of each kind of key.
GgufBytes small_file(std::endian order, uint32_t version = 3) {
  GgufBytes b(order);
  b.header(2, 6, version).text_key("general.architecture", "llama");
  b.key("u16", 2).number<uint16_t>(0x1234);
  b.key("f64", 12).number(0.1);
  b.key("flag", 7).raw(std::string_view("\1", 1));
  // 9 is an array, 5 its element type i32, 2 its length. The numbers of types are written out here:
  // a table with two of them exchanged would read back its own mistake.
  b.key("ids", 9).number(uint32_t{5}).number(uint64_t{2}).number(int32_t{-5}).number(int32_t{9});
  b.key("words", 9).number(uint32_t{8}).number(uint64_t{2}).text("ab").text("");
  b.tensor("m", {3, 2}, 0, 0).tensor("h", {2}, 1, 32).pad();
  for (const float x : {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}) b.number(x);
  // 6 floats are 24 bytes: the second tensor begins at 32, where its entry says.
  b.pad().number(uint16_t{0x3c00}).number(uint16_t{0x4000});
  return b;
}

// The file that gguf_test_bytes.h makes.
void expect_small_file(const GgufFile& file) {
  const Metadata& m = file.metadata();
  EXPECT_EQ(m.integer("u16").value(), 0x1234);
  EXPECT_EQ(m.number("f64").value(), 0.1);
  EXPECT_TRUE(m.boolean("flag").value());
  EXPECT_EQ(m.integers("ids").value(), (std::vector<int64_t>{-5, 9}));
  EXPECT_EQ((*m.texts("words"))[0], "ab");
  ASSERT_EQ(file.tensors().size(), 2U);
  // The entry says {3, 2}, innermost first.
  EXPECT_EQ(file.tensors()[0].shape, (Shape{2, 3}));
  EXPECT_EQ(file.weight("m")->read_as<float>().value(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(file.weight("h")->read_as<uint16_t>().value(), (std::vector<uint16_t>{0x3c00, 0x4000}));
  EXPECT_EQ(file.info("h")->dtype, DType::kF16);
}

// The tensor's bytes are those of the file.
TEST(GgufReader, ReadsLittleEndianInPlace) {
  const auto file = small_file(std::endian::little).parse();
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->byte_order(), std::endian::little);
  expect_small_file(**file);
  // "file" is the place of borrowed bytes: nothing was copied.
  EXPECT_EQ((*file)->weight("m")->buffer().place(), "file");
}

// A copy, since the bytes change.
TEST(GgufReader, ReadsBigEndian) {
  const auto file = small_file(std::endian::big).parse();
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->byte_order(), std::endian::big);
  EXPECT_EQ((*file)->version(), 3U);
  expect_small_file(**file);
}

// Version 1 had other widths.
TEST(GgufReader, ReadsVersion2AndRefusesOthers) {
  const auto file = small_file(std::endian::little, 2).parse();
  ASSERT_TRUE(file) << file.error().message;
  expect_small_file(**file);
  EXPECT_EQ(error_of(GgufBytes().header(0, 0, 1)),
            "GGUF version 1 is not supported; versions 2 and 3 are. Convert the model again.");
  EXPECT_EQ(error_of(GgufBytes().header(0, 0, 4)),
            "GGUF version 4 is unknown; versions 2 and 3 are supported.");
  EXPECT_EQ(error_of(GgufBytes().raw("PK\3\4............")),
            "It does not begin with 'GGUF'; it is another format.");
}

// Tensors keep the mapping alive.
TEST(GgufReader, WeightOutlivesTheFile) {
  auto file = small_file(std::endian::little).parse();
  ASSERT_TRUE(file);
  const Tensor weight = (*file)->weight("m").value();
  file->reset();
  EXPECT_EQ(weight.read_as<float>()->at(5), 6.0F);
}

// At each byte of the header.
TEST(GgufReader, EveryTruncationIsAnError) {
  for (const auto order : {std::endian::little, std::endian::big}) {
    const std::string whole = small_file(order).bytes();
    // The file ends with tensor data and not with padding, so that every shorter one is incomplete.
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(GgufBytes().raw(std::string_view(whole).substr(0, size)).parse()) << size;
    }
  }
}

// Of keys and of tensors.
TEST(GgufReader, DuplicatesAreErrors) {
  EXPECT_EQ(error_of(GgufBytes().header(0, 2).text_key("k", "a").text_key("k", "b")),
            "Before byte 68: Metadata key 'k' occurs twice.");
  EXPECT_EQ(error_of(GgufBytes()
                         .header(2, 0)
                         .tensor("t", {1}, 24, 0)
                         .tensor("t", {1}, 24, 32)
                         .pad()
                         .raw(std::string(64, 'x'))),
            "Tensor 't' occurs twice.");
}

// So that a hex dump shows the place.
TEST(GgufReader, ErrorsNameKeyOrTensorAndByte) {
  EXPECT_EQ(error_of(GgufBytes().header(0, 1).key("abc", 8).number(uint64_t{99}).raw("xy12345")),
            "Metadata key 'abc': The string at byte 39 has 99 bytes; 7 remain.");
  EXPECT_EQ(error_of(GgufBytes()
                         .header(0, 1)
                         .key("abc", 9)
                         .number(uint32_t{8})
                         .number(uint64_t{1})
                         .number(uint64_t{1} << 40)),
            "Metadata key 'abc': String 0 at byte 51 has 1099511627776 bytes; 0 remain.");
  EXPECT_EQ(error_of(GgufBytes().header(0, 1).key("abc", 77).number(uint64_t{99})),
            "Metadata key 'abc': The value before byte 39 is of the unknown type 77.");
  EXPECT_EQ(error_of(GgufBytes().header(1, 0).tensor("w", {32}, 31, 0)),
            "Tensor 'w' before byte 57 is of type 31 (q4_0_4_4), which was removed from the "
            "format; quantise the model again.");
  EXPECT_EQ(
      error_of(GgufBytes().header(1, 0).tensor("w", {33}, 2, 0)),
      "Tensor 'w': The last extent 33 of a q4_0 tensor is not a multiple of its block of 32.");
  EXPECT_EQ(error_of(GgufBytes().header(1, 0).tensor("w", {8}, 0, 0).pad().raw("1234")),
            "Tensor 'w' has 32 bytes at offset 0 of the data, which starts at byte 64; the file "
            "has 68 bytes.");
  EXPECT_EQ(error_of(GgufBytes().header(1, 0).tensor("w", {8}, 0, 4).pad().raw("1234")),
            "Tensor 'w' has the offset 4, which is not a multiple of 32.");
}

// By the key, or 32.
TEST(GgufReader, AlignmentIsHonoured) {
  GgufBytes b;
  b.header(1, 1).key("general.alignment", 4).number(uint32_t{128});
  b.tensor("w", {1}, 24, 128).pad(128).raw(std::string(128, 'a')).raw("b");
  const auto file = b.parse();
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->alignment(), 128);
  EXPECT_EQ((*file)->weight("w")->read_as<int8_t>()->at(0), 'b');
  EXPECT_EQ(error_of(GgufBytes().header(0, 1).key("general.alignment", 4).number(uint32_t{0})),
            "Metadata key 'general.alignment' is 0; a power of two from 8 to 2^30 is needed.");
}

// There is no path to find the others by.
TEST(GgufReader, PartsOfASplitModelAreRefusedInMemory) {
  EXPECT_EQ(error_of(GgufBytes().header(0, 1).key("split.count", 2).number(uint16_t{3})),
            "The model is split into 3 files, of which this is one; open the first by its path.");
  EXPECT_EQ(error_of(GgufBytes().header(0, 1).key("split.count", 2).number(uint16_t{1})),
            "no error");
}

// Guessing would give wrong weights.
TEST(GgufReader, BigEndianFormatsWithoutDefinedOrderAreRefused) {
  GgufBytes b(std::endian::big);
  // Type 16 is iq2_xxs: one block of 66 bytes. Opening such a file is right; only the weight fails.
  b.header(1, 0).tensor("w", {256}, 16, 0).pad().raw(std::string(66, 'x'));
  const auto file = b.parse();
  ASSERT_TRUE(file);
  const auto weight = (*file)->weight("w");
  ASSERT_FALSE(weight);
  EXPECT_EQ(weight.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(weight.error().message,
            "Tensor 'w': The format iq2_xxs has no defined big-endian form.");
}

// By its name.
TEST(GgufReader, AbsentTensorIsNotFound) {
  const auto file = small_file(std::endian::little).parse();
  const auto weight = (*file)->weight("none");
  ASSERT_FALSE(weight);
  EXPECT_EQ(weight.error().code, ErrorCode::kNotFound);
}

// Every real file of the suites: read, checked, every tensor reached.
TEST(GgufReader, ReadsRealFiles) {
  const std::filesystem::path suites = QUERN_SUITES_DIR;
  if (!std::filesystem::exists(suites)) GTEST_SKIP() << "The suites are absent.";
  int num_files = 0;
  for (const char* folder : {"gguf_vocab", "stories260k/gguf", "tiny_models"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(suites / folder)) {
      if (entry.path().extension() != ".gguf") continue;
      const auto file = GgufFile::open(entry.path());
      ASSERT_TRUE(file) << file.error().message;
      EXPECT_TRUE(check_model_metadata((*file)->metadata())) << entry.path();
      for (const WeightInfo& info : (*file)->list()) EXPECT_TRUE((*file)->weight(info.name));
      ++num_files;
    }
  }
  // A floor, so that a suite that was moved does not make the test pass on nothing.
  EXPECT_GE(num_files, 43);
}

}  // namespace
}  // namespace quern
