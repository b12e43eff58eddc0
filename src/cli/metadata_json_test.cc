// Tests of metadata values as JSON.
#include "cli/metadata_json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace quern::cli {
namespace {

// On one line.
std::string text_of(const MetadataValue& value, int64_t limit = 8) {
  return metadata_to_json(value, limit).dump();
}

// Every kind of value that files hold.
TEST(MetadataJson, ScalarsAreThemselves) {
  EXPECT_EQ(text_of(MetadataValue::number(uint8_t{7})), "7");
  EXPECT_EQ(text_of(MetadataValue::number(int64_t{-5})), "-5");
  EXPECT_EQ(text_of(MetadataValue::number(0.5F)), "0.5");
  EXPECT_EQ(text_of(MetadataValue::number(true)), "true");
  EXPECT_EQ(text_of(MetadataValue::text("a \"b\"\n")), R"("a \"b\"\n")");
  EXPECT_EQ(text_of(MetadataValue::text("")), "\"\"");
  EXPECT_EQ(text_of(MetadataValue::number(std::numeric_limits<int64_t>::max())),
            "9223372036854775807");
}

// JSON readers would wrap them around.
TEST(MetadataJson, UnsignedNumbersPastTwoToThe63AreFloats) {
  EXPECT_EQ(metadata_to_json(MetadataValue::number(std::numeric_limits<uint64_t>::max()), 1),
            1.8446744073709552e19);
}

// Vocabularies have 10^5 entries.
TEST(MetadataJson, LongArraysAreCut) {
  const std::vector<int32_t> values = {1, 2, 3, 4};
  const auto array = MetadataValue::numbers(std::span<const int32_t>(values));
  EXPECT_EQ(text_of(array, 4), "[1,2,3,4]");
  EXPECT_EQ(text_of(array, INT64_MAX), "[1,2,3,4]");
  EXPECT_EQ(text_of(array, 2), R"([1,2,"... 4 in all"])");
  EXPECT_EQ(text_of(array, 0), R"(["... 4 in all"])");
  EXPECT_EQ(text_of(MetadataValue::numbers(std::span<const float>()), 2), "[]");
  const std::vector<std::string_view> texts = {"a", ""};
  EXPECT_EQ(text_of(MetadataValue::texts(texts)), R"(["a",""])");
}

}  // namespace
}  // namespace quern::cli
