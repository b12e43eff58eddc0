#include "formats/metadata.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "formats/model_metadata.h"

namespace quern {
namespace {

// A few keys of different types.
Metadata sample() {
  Metadata m;
  m.set("a.u32", MetadataValue::number<uint32_t>(7));
  m.set("a.i8", MetadataValue::number<int8_t>(-3));
  m.set("a.f32", MetadataValue::number(1.5F));
  m.set("a.huge", MetadataValue::number(std::numeric_limits<uint64_t>::max()));
  m.set("a.flag", MetadataValue::number(true));
  m.set("a.name", MetadataValue::text("quern"));
  m.set("b.layers", MetadataValue::numbers<int32_t>(std::array<int32_t, 3>{4, 0, 4}));
  m.set("b.pattern", MetadataValue::numbers<bool>(std::array<bool, 3>{true, false, true}));
  m.set("b.words", MetadataValue::texts(std::array<std::string_view, 3>{"x", "", "yz"}));
  return m;
}

template <class T>
std::string message(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

// Hostile files have empty arrays.
TEST(Metadata, ElementsOutsideAnArrayAreErrors) {
  const auto nothing = MetadataValue::texts({});
  EXPECT_EQ(message(nothing.text_at(0)), "has 0 elements; element 0 is needed");
  EXPECT_EQ(message(MetadataValue::numbers<float>({}).number_at(0)),
            "has 0 elements; element 0 is needed");
  const auto three = MetadataValue::numbers<int32_t>(std::array<int32_t, 3>{4, 0, 4});
  EXPECT_EQ(message(three.integer_at(3)), "has 3 elements; element 3 is needed");
  EXPECT_EQ(message(three.bool_at(-1)), "has 3 elements; element -1 is needed");
  EXPECT_EQ(three.integer_at(2).value(), 4);
  EXPECT_EQ(message(MetadataValue::text("one").text_at(1)), "has 1 elements; element 1 is needed");
}

// Found by fuzzing.
TEST(ModelMetadata, AnArchitectureThatIsAnEmptyArrayIsRefused) {
  Metadata metadata;
  metadata.set("general.architecture", MetadataValue::texts({}));
  EXPECT_EQ(
      message(check_model_metadata(metadata)),
      "Metadata key 'general.architecture' is empty or of type array of string; the name of a "
      "model family is needed.");
}

// What is written is the type of the program.
TEST(Metadata, TypesFollowTheWidthOfTheNumber) {
  EXPECT_EQ(MetadataValue::number<uint8_t>(1).type_name(), "u8");
  EXPECT_EQ(MetadataValue::number<int16_t>(1).type_name(), "i16");
  EXPECT_EQ(MetadataValue::number<uint32_t>(1).type_name(), "u32");
  EXPECT_EQ(MetadataValue::number<int64_t>(1).type_name(), "i64");
  EXPECT_EQ(MetadataValue::number(1.0).type_name(), "f64");
  EXPECT_EQ(MetadataValue::number(true).type_name(), "bool");
  EXPECT_EQ(MetadataValue::numbers<float>({}).type_name(), "array of f32");
  EXPECT_EQ(MetadataValue::texts({}).type_name(), "array of string");
}

// Converters differ.
TEST(Metadata, IntegersAreTakenInAnyWidth) {
  const Metadata m = sample();
  EXPECT_EQ(m.integer("a.u32").value(), 7);
  EXPECT_EQ(m.integer("a.i8").value(), -3);
  EXPECT_EQ(m.number("a.i8").value(), -3.0);
  EXPECT_EQ(m.number("a.f32").value(), 1.5);
  // 2^64 - 1 as a double rounds to 2^64; as an integer it is an error, not -1.
  EXPECT_EQ(m.number("a.huge").value(), std::ldexp(1.0, 64));
  EXPECT_EQ(message(m.integer("a.huge")),
            "Metadata key 'a.huge' holds 18446744073709551615; the limit is 2^63 - 1.");
}

// A fallback is for absent keys only.
TEST(Metadata, WrongTypesAreErrorsEvenWithFallback) {
  const Metadata m = sample();
  EXPECT_EQ(message(m.integer("a.name")),
            "Metadata key 'a.name' is of type string; an integer is needed.");
  EXPECT_EQ(message(m.integer_or("a.f32", 1)),
            "Metadata key 'a.f32' is of type f32; an integer is needed.");
  EXPECT_EQ(message(m.integer("b.layers")),
            "Metadata key 'b.layers' is of type array of i32; an integer is needed.");
  EXPECT_EQ(message(m.text("a.u32")), "Metadata key 'a.u32' is of type u32; a string is needed.");
  EXPECT_EQ(message(m.boolean("a.u32")), "Metadata key 'a.u32' holds 7; a bool is needed.");
  EXPECT_EQ(message(m.texts("b.layers")),
            "Metadata key 'b.layers' is of type array of i32; an array of strings is needed.");
  EXPECT_EQ(message(m.integers("a.u32")),
            "Metadata key 'a.u32' is of type u32; an array of integers is needed.");
  EXPECT_FALSE(m.number("a.flag"));
  EXPECT_FALSE(m.integer("a.flag"));
}

// The error says what was wanted.
TEST(Metadata, AbsentKeysUseTheFallbackOrSaySo) {
  const Metadata m = sample();
  EXPECT_EQ(m.integer_or("none", 5).value(), 5);
  EXPECT_EQ(m.number_or("none", 0.5).value(), 0.5);
  EXPECT_EQ(m.text_or("none", "t").value(), "t");
  EXPECT_TRUE(m.boolean_or("none", true).value());
  const auto missing = m.integer("none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "Metadata key 'none' is absent; an integer is needed.");
}

// One value, or one for each layer.
TEST(Metadata, PerLayerValuesComeFromScalarsAndArrays) {
  const Metadata m = sample();
  EXPECT_EQ(m.integers_per_layer("a.u32", 2).value(), (std::vector<int64_t>{7, 7}));
  EXPECT_EQ(m.integers_per_layer("b.layers", 3).value(), (std::vector<int64_t>{4, 0, 4}));
  EXPECT_EQ(m.booleans_per_layer("b.pattern", 3).value(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(m.numbers_per_layer("a.f32", 1).value(), std::vector<double>{1.5});
  // A model of no layers: a scalar repeated no times.
  EXPECT_TRUE(m.integers_per_layer("a.u32", 0)->empty());
  EXPECT_EQ(message(m.integers_per_layer("b.layers", 4)),
            "Metadata key 'b.layers' holds 3 values; the model has 4 layers.");
}

// And zeros inside of texts.
TEST(Metadata, TextArraysKeepEmptyTexts) {
  const Metadata m = sample();
  const auto words = m.texts("b.words");
  ASSERT_TRUE(words);
  ASSERT_EQ(words->size(), 3);
  EXPECT_EQ((*words)[0], "x");
  EXPECT_EQ((*words)[1], "");
  EXPECT_EQ((*words)[2], "yz");
}

// A key that nobody reads may change the model.
TEST(Metadata, RemembersWhichKeysWereRead) {
  const Metadata m = sample();
  EXPECT_EQ(m.unread_keys("b.").size(), 3U);
  EXPECT_TRUE(m.integers("b.layers"));
  EXPECT_TRUE(m.texts("b.words"));
  EXPECT_TRUE(m.has("b.pattern"));
  EXPECT_NE(m.peek("b.pattern"), nullptr);
  EXPECT_EQ(m.unread_keys("b."), std::vector<std::string>{"b.pattern"});
  // A copy carries the record; has() and peek() above left no trace in it.
  EXPECT_EQ(Metadata(m).unread_keys("b."), std::vector<std::string>{"b.pattern"});
  EXPECT_EQ(m, sample());
}

// Adding twice is an error, setting is not.
TEST(Metadata, KeysAreUnique) {
  Metadata m = sample();
  EXPECT_EQ(message(m.add("a.u32", MetadataValue::text(""))), "Metadata key 'a.u32' occurs twice.");
  m.set("a.u32", MetadataValue::number<uint32_t>(8));
  EXPECT_EQ(m.integer("a.u32").value(), 8);
  EXPECT_EQ(m.size(), sample().size());
}

}  // namespace
}  // namespace quern
