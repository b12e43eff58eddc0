// Split, merged and big-endian files hold the original tensors; sets that do not belong together
// are refused.
#include "formats/convert_model.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "formats/gguf_test_bytes.h"
#include "formats/synth.h"
#include "support/temporary_folder.h"

namespace quern {
namespace {

// All bytes of a file.
std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Replaces the file.
void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Names, types, shapes and bytes, in the same order.
void expect_same_tensors(const GgufFile& a, const GgufFile& b) {
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (size_t i = 0; i < a.tensors().size(); ++i) {
    EXPECT_EQ(a.tensors()[i].name, b.tensors()[i].name);
    const Tensor x = a.weight(a.tensors()[i].name).value();
    const Tensor y = b.weight(a.tensors()[i].name).value();
    EXPECT_EQ(x.dtype(), y.dtype());
    EXPECT_EQ(x.shape(), y.shape());
    EXPECT_TRUE(x.read().value() == y.read().value()) << a.tensors()[i].name;
  }
}

// A synthetic model to be converted.
class Convert : public testing::Test {
 protected:
  std::shared_ptr<GgufFile> open(const std::string& name) {
    auto file = GgufFile::open(folder_.file(name));
    EXPECT_TRUE(file) << file.error().message;
    return file ? *file : nullptr;
  }
  ConvertReport convert(const GgufFile& source, const std::string& name, ConvertOptions options) {
    auto report = convert_model(source, folder_.file(name), options);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : ConvertReport();
  }

  const test::TemporaryFolder folder_{"convert"};
};

// Every path from a file to a file.
TEST_F(Convert, SplitMergedAndBigEndianFilesHoldTheSameTensors) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kQ4_K, DType::kQ8_0}) {
    SCOPED_TRACE(dtype_name(dtype));
    ASSERT_TRUE(write_synthetic_model(folder_.file("m.gguf"), {"tiny-k", dtype, 1}));
    const auto original = open("m.gguf");
    const int64_t part_bytes = convert(*original, "same.gguf", {}).weight_bytes / 3;
    // Equal bytes, not equal values: order of keys and tensors, paddings and types of metadata are
    // kept.
    EXPECT_EQ(bytes_of(folder_.file("same.gguf")), bytes_of(folder_.file("m.gguf")));

    const auto split = convert(*original, "part.gguf", {std::endian::big, part_bytes});
    ASSERT_GE(split.paths.size(), 3U);
    const std::string count = fmt::format("{:05}", split.paths.size());
    EXPECT_EQ(split.paths[0], folder_.file("part-00001-of-" + count + ".gguf"));
    const auto set = open("part-00001-of-" + count + ".gguf");
    EXPECT_EQ(set->num_parts(), static_cast<int>(split.paths.size()));
    EXPECT_EQ(set->byte_order(), std::endian::big);
    expect_same_tensors(*original, *set);

    convert(*set, "merged.gguf", {});
    EXPECT_EQ(bytes_of(folder_.file("merged.gguf")), bytes_of(folder_.file("m.gguf")));
  }
}

// A part may be smaller, never larger.
TEST_F(Convert, PartsKeepTheirLimitAndTheirAlignment) {
  GgufBytes b;
  b.header(3, 1).key("general.alignment", 4).number(uint32_t{128});
  // Sizes 32, 256 and 32 bytes, padded to 128, 256 and 128: with 200 bytes a part no two fit
  // together.
  b.tensor("a", {8}, 0, 0).tensor("b", {64}, 0, 128).tensor("c", {8}, 0, 384).pad(128);
  b.raw(std::string(128, 'a')).raw(std::string(256, 'b')).raw(std::string(32, 'c'));
  write_file(folder_.file("m.gguf"), b.bytes());
  const auto original = open("m.gguf");
  const auto report = convert(*original, "part", {std::endian::little, 200});
  ASSERT_EQ(report.paths.size(), 3U);  // b passes the limit and has a part of its own
  const auto set = open("part-00001-of-00003.gguf");
  EXPECT_EQ(set->find("b")->part, 1);
  EXPECT_EQ(set->find("b")->offset % 128, 0);
  expect_same_tensors(*original, *set);
}

// No numbers where there is nothing to count.
TEST_F(Convert, ModelThatFitsOnePartKeepsItsName) {
  ASSERT_TRUE(write_synthetic_model(folder_.file("m.gguf"), {"tiny", DType::kQ8_0, 1}));
  const auto report = convert(*open("m.gguf"), "n.gguf", {std::endian::little, int64_t{1} << 40});
  EXPECT_EQ(report.paths, (std::vector<std::string>{folder_.file("n.gguf")}));
}

// Nothing is left on the disk.
TEST_F(Convert, FormatsWithoutBigEndianFormAndTinyPartsAreErrors) {
  ASSERT_TRUE(write_synthetic_model(folder_.file("m.gguf"), {"tiny-k", DType::kIQ2_XXS, 1}));
  const auto file = open("m.gguf");
  const auto big = convert_model(*file, folder_.file("b.gguf"), {std::endian::big, 0});
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().message,
            "Tensor 'token_embd.weight': The format iq2_xxs has no defined big-endian form.");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("b.gguf")));
  EXPECT_FALSE(convert_model(*file, folder_.file("n.gguf"), {std::endian::little, -1}));
}

// Sets of two parts with one f32 tensor each, changed by a test.
struct PartKeys {
  int32_t index;
  int32_t count = 2;
  int32_t tensors = 2;
  std::string tensor;
};

// A small part with these keys.
std::string part_bytes(const PartKeys& keys) {
  GgufBytes b;
  b.header(1, 3);
  b.key("split.no", 5).number(keys.index);
  b.key("split.count", 5).number(keys.count);
  b.key("split.tensors.count", 5).number(keys.tensors);
  b.tensor(keys.tensor, {1}, 0, 0).pad().number(1.0F);
  return b.bytes();
}

// Parts in a folder, whole until a test changes them.
class SplitSet : public testing::Test {
 protected:
  std::string path(int index) const {
    return folder_.file("m-0000" + std::to_string(index + 1) + "-of-00002.gguf");
  }
  std::string error_of(const PartKeys& first, const PartKeys& second) {
    write_file(path(0), part_bytes(first));
    write_file(path(1), part_bytes(second));
    return error();
  }
  std::string error(int index = 0) {
    const auto file = GgufFile::open(path(index));
    if (file) return "no error";
    std::string message = file.error().message;
    const std::string prefix = folder_.path().string() + "/";
    for (size_t at = 0; (at = message.find(prefix)) != std::string::npos;) {
      message.erase(at, prefix.size());
    }
    return message;
  }

  const test::TemporaryFolder folder_{"split_set"};
};

constexpr const char* kSecond =
    "While reading part 2 of 2 of 'm-00001-of-00002.gguf': Part 'm-00002-of-00002.gguf': ";

// Named by its first part.
TEST_F(SplitSet, WholeSetIsRead) {
  EXPECT_EQ(error_of({0, 2, 2, "a"}, {1, 2, 2, "b"}), "no error");
  EXPECT_EQ(error(1),
            "'m-00002-of-00002.gguf' is part 2 of 2 of a split model; open the first, "
            "'m-00001-of-00002.gguf'.");
}

// The error names the path that was tried.
TEST_F(SplitSet, MissingOrRenamedPartsAreErrors) {
  write_file(path(0), part_bytes({0, 2, 2, "a"}));
  EXPECT_EQ(error().substr(0, 53), "While reading part 2 of 2 of 'm-00001-of-00002.gguf':");
  EXPECT_NE(error().find("m-00002-of-00002.gguf"), std::string::npos);
  std::filesystem::rename(path(0), folder_.file("other.gguf"));
  const auto file = GgufFile::open(folder_.file("other.gguf"));
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("its name does not end in '-00001-of-00002.gguf'"),
            std::string::npos);
}

// Parts of two models may stand beside each other.
TEST_F(SplitSet, CountsMustAgree) {
  EXPECT_EQ(
      error_of({0, 2, 2, "a"}, {1, 3, 2, "b"}),
      std::string(kSecond) + "The file says that it is part 2 of 3; part 2 of 2 is expected.");
  EXPECT_EQ(
      error_of({0, 2, 2, "a"}, {0, 2, 2, "b"}),
      std::string(kSecond) + "The file says that it is part 1 of 2; part 2 of 2 is expected.");
  EXPECT_EQ(error_of({0, 2, 2, "a"}, {1, 2, 3, "b"}),
            std::string(kSecond) + "'split.tensors.count' is 3; the first part says 2.");
  EXPECT_EQ(error_of({0, 2, 5, "a"}, {1, 2, 5, "b"}),
            "The 2 parts of 'm-00001-of-00002.gguf' have 2 tensors; 'split.tensors.count' says 5.");
}

// Which one would count?
TEST_F(SplitSet, TensorInTwoPartsIsAnError) {
  EXPECT_EQ(error_of({0, 2, 2, "a"}, {1, 2, 2, "a"}),
            std::string(kSecond) + "Tensor 'a' is in part 1 already.");
}

// Part 3 of 2, part -1, counts of 2^63.
TEST_F(SplitSet, WildNumbersAreErrors) {
  EXPECT_EQ(error_of({0, -1, 2, "a"}, {1, 2, 2, "b"}),
            "While reading 'm-00001-of-00002.gguf': Metadata key 'split.count' is -1; 0 to 99999 "
            "are possible.");
  EXPECT_EQ(error_of({0, 2000000000, 2, "a"}, {1, 2, 2, "b"}),
            "While reading 'm-00001-of-00002.gguf': Metadata key 'split.count' is 2000000000; 0 to "
            "99999 are possible.");
  EXPECT_EQ(error_of({7, 2, 2, "a"}, {1, 2, 2, "b"}),
            "While reading 'm-00001-of-00002.gguf': Metadata key 'split.no' is 7; the set has 2 "
            "parts, numbered from 0.");
}

// A download that broke off.
TEST_F(SplitSet, TruncatedPartIsAnError) {
  write_file(path(0), part_bytes({0, 2, 2, "a"}));
  const std::string whole = part_bytes({1, 2, 2, "b"});
  // A step that no field has as its width: cuts fall inside fields and between them.
  for (size_t size = 0; size < whole.size(); size += 7) {
    write_file(path(1), whole.substr(0, size));
    EXPECT_NE(error(), "no error") << size;
  }
}

}  // namespace
}  // namespace quern
