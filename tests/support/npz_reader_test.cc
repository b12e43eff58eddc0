#include "support/npz_reader.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/mapped_file.h"

namespace quern::test {
namespace {

const std::string kFolder = std::string(QUERN_TEST_DATA_DIR) + "/npz/";

TEST(NpzReader, ReadsTypesShapesAndScalars) {
  const auto archive = read_npz(kFolder + "mixed.npz");
  ASSERT_TRUE(archive) << archive.error().message;
  EXPECT_EQ(archive->size(), 5u);
  const NpyArray& i8 = archive->at("i8");
  EXPECT_EQ(i8.dtype, "|i1");
  EXPECT_EQ(i8.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(i8.as<int8_t>(), (std::vector<int8_t>{-3, -2, -1, 0, 1, 2}));
  EXPECT_TRUE(i8.as<int16_t>().empty());
  EXPECT_EQ(archive->at("f32").as<uint32_t>(), (std::vector<uint32_t>{0x3FC00000u, 0x80000000u}));
  EXPECT_TRUE(archive->at("scalar").shape.empty());
  EXPECT_EQ(archive->at("scalar").as<double>(), std::vector<double>{2.5});
  EXPECT_EQ(archive->at("empty").num_elements(), 0);
}

TEST(NpzReader, ReordersFortranArrays) {
  const auto archive = read_npz(kFolder + "mixed.npz");
  ASSERT_TRUE(archive);
  std::vector<int32_t> expected(24);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(archive->at("fortran").as<int32_t>(), expected);
}

TEST(NpzReader, RefusesCompressedEntries) {
  const auto archive = read_npz(kFolder + "compressed.npz");
  ASSERT_FALSE(archive);
  EXPECT_EQ(archive.error().code, ErrorCode::kUnimplemented);
}

TEST(NpzReader, RefusesEveryTruncation) {
  const auto file = MappedFile::open(kFolder + "mixed.npz");
  ASSERT_TRUE(file);
  const auto bytes = (*file)->bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(parse_npz(bytes.first(size))) << size;
  }
}

}  // namespace
}  // namespace quern::test
