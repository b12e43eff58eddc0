// The parts of a GGUF header with every number that a hostile file may hold.
#include "formats/gguf_header.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "formats/gguf_split.h"
#include "formats/gguf_test_bytes.h"
#include "formats/gguf_types.h"

namespace quern::gguf {
namespace {

std::span<const std::byte> as_span(const std::string& bytes) {
  return std::as_bytes(std::span(bytes));
}

// One key "k" with what follows its name.
template <class Fill>
std::string key_error(const Fill& fill, std::endian order = std::endian::little) {
  GgufBytes b(order);
  b.text("k");
  fill(b);
  ByteCursor cursor(as_span(b.bytes()), order);
  const auto metadata = read_metadata(cursor, 1);
  return metadata ? "none" : metadata.error().message;
}

// The version decides: 3 read the wrong way is a large number.
TEST(GgufHeader, PreambleOfBothOrders) {
  for (const auto order : {std::endian::little, std::endian::big}) {
    for (const uint32_t version : {2U, 3U}) {
      const GgufBytes b = GgufBytes(order).header(5, 7, version);
      const auto preamble = read_preamble(as_span(b.bytes()));
      ASSERT_TRUE(preamble);
      EXPECT_EQ(preamble->version, version);
      EXPECT_EQ(preamble->order, order);
      EXPECT_EQ(preamble->num_tensors, 5);
      EXPECT_EQ(preamble->num_keys, 7);
      // 4 bytes of magic, 4 of version, 8 for each count.
      EXPECT_EQ(preamble->size_bytes, 24U);
    }
  }
}

// Files of other formats are the most common mistake.
TEST(GgufHeader, PreambleErrors) {
  const auto error = [](const std::string& bytes) {
    return read_preamble(as_span(bytes)).error().message;
  };
  EXPECT_EQ(error(""), "The file ends inside the magic number at byte 0: 0 bytes remain.");
  EXPECT_EQ(error("GG"), "The file ends inside the magic number at byte 0: 2 bytes remain.");
  EXPECT_EQ(error("FUGG"), "It does not begin with 'GGUF'; it is another format.");
  // Case counts.
  EXPECT_EQ(error("gguf"), "It does not begin with 'GGUF'; it is another format.");
  EXPECT_EQ(error("GGUF"), "The file ends inside the version at byte 4: 0 bytes remain.");
  EXPECT_EQ(error(std::string("GGUF\0\0\0\0", 8)),
            "GGUF version 0 is unknown; versions 2 and 3 are supported.");
  EXPECT_EQ(error(std::string("GGUF\3\0\0\0\1", 9)),
            "The file ends inside the counts of tensors and keys at byte 8: 1 bytes remain.");
  EXPECT_EQ(error(GgufBytes().header(0, 0, 0xffff).bytes()),
            "GGUF version 65535 is unknown; versions 2 and 3 are supported.");
  EXPECT_EQ(error(GgufBytes(std::endian::big).header(0, 0, 7).bytes()),
            "GGUF version 7 is unknown; versions 2 and 3 are supported.");
}

// Alone and in arrays.
TEST(GgufHeader, EachTypeOfValueComesBackInBothOrders) {
  for (const auto order : {std::endian::little, std::endian::big}) {
    GgufBytes b(order);
    // Values past the signed range of the unsigned types, and negative ones of the signed: a reader
    // that takes one width or sign for another gives other numbers.
    b.key("0", 0).number(uint8_t{200}).key("1", 1).number(int8_t{-100});
    b.key("2", 2).number(uint16_t{60000}).key("3", 3).number(int16_t{-30000});
    b.key("4", 4).number(uint32_t{4000000000}).key("5", 5).number(int32_t{-2000000000});
    b.key("6", 6).number(1.5F).key("7", 7).number(uint8_t{1}).key("8", 8).text("t\xc3\xa9xt");
    b.key("10", 10).number(uint64_t{1} << 62).key("11", 11).number(INT64_MIN);
    b.key("12", 12).number(-0.1);
    ByteCursor cursor(as_span(b.bytes()), order);
    const auto m = read_metadata(cursor, 12);
    ASSERT_TRUE(m) << m.error().message;
    EXPECT_EQ(cursor.remaining(), 0U);
    EXPECT_EQ(*m->integer("0"), 200);
    EXPECT_EQ(*m->integer("1"), -100);
    EXPECT_EQ(*m->integer("2"), 60000);
    EXPECT_EQ(*m->integer("3"), -30000);
    EXPECT_EQ(*m->integer("4"), 4000000000);
    EXPECT_EQ(*m->integer("5"), -2000000000);
    EXPECT_EQ(*m->number("6"), 1.5);
    EXPECT_TRUE(*m->boolean("7"));
    EXPECT_EQ(*m->text("8"), "t\xc3\xa9xt");
    EXPECT_EQ(*m->integer("10"), int64_t{1} << 62);
    EXPECT_EQ(*m->integer("11"), INT64_MIN);
    EXPECT_EQ(*m->number("12"), -0.1);
  }
}

// Readers ask for element 0 all the same.
TEST(GgufHeader, ArraysOfEveryTypeMayBeEmpty) {
  for (const uint32_t type : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 10U, 11U, 12U}) {
    GgufBytes b;
    b.key("k", 9).number(type).number(uint64_t{0});
    ByteCursor cursor(as_span(b.bytes()));
    const auto m = read_metadata(cursor, 1);
    ASSERT_TRUE(m) << type << m.error().message;
    EXPECT_EQ(m->value(0).size(), 0);
    EXPECT_TRUE(m->value(0).is_array());
  }
}

// 2^60 keys must not be reserved.
TEST(GgufHeader, CountsOfKeysAndTensorsAreHeldAgainstTheBytes) {
  // One byte remains; even a single key needs 14.
  for (const int64_t count : {int64_t{1}, int64_t{1000}, INT64_MAX, int64_t{-1}, INT64_MIN}) {
    ByteCursor keys(as_span("x"));
    const auto metadata = read_metadata(keys, count);
    ASSERT_FALSE(metadata);
    EXPECT_EQ(metadata.error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(metadata.error().message,
              fmt::format("The header announces {} metadata keys; 1 bytes remain.", count));
    ByteCursor tensors(as_span("x"));
    EXPECT_EQ(read_tensor_entries(tensors, count).error().message,
              fmt::format("The header announces {} tensors; 1 bytes remain.", count));
  }
}

// From nothing to more than a line.
TEST(GgufHeader, NamesAreBounded) {
  const auto error = [](uint64_t size, std::string_view name) {
    GgufBytes b;
    b.number(size).raw(name).raw(std::string(20, 'x'));
    ByteCursor cursor(as_span(b.bytes()));
    return read_metadata(cursor, 1).error().message;
  };
  EXPECT_EQ(error(0, ""),
            "The name of metadata key number 0 at byte 0 has 0 bytes; 1 to 65535 are allowed.");
  EXPECT_EQ(error(65536, ""),
            "The name of metadata key number 0 at byte 0 has 65536 bytes; 1 to 65535 are allowed.");
  EXPECT_EQ(error(UINT64_MAX, ""),
            "The name of metadata key number 0 at byte 0 has 18446744073709551615 bytes; 1 to "
            "65535 are allowed.");
  EXPECT_EQ(error(uint64_t{1} << 63, ""),
            "The name of metadata key number 0 at byte 0 has 9223372036854775808 bytes; 1 to "
            "65535 are allowed.");
  // An allowed size that the file does not have: 1 + 20 bytes follow.
  EXPECT_EQ(error(60000, "k"),
            "The name of metadata key number 0 at byte 0 has 60000 bytes; 21 remain.");
  EXPECT_EQ(error(3, "a\nb"),
            "The name of metadata key number 0 at byte 0 holds a control character.");
}

// Letters of any script, but no controls.
TEST(GgufHeader, ValidNames) {
  EXPECT_TRUE(is_valid_name("blk.0.attn_q.weight"));
  EXPECT_TRUE(is_valid_name("\xc3\xa9 with space"));
  EXPECT_TRUE(is_valid_name(std::string(65535, 'n')));
  EXPECT_FALSE(is_valid_name(""));
  EXPECT_FALSE(is_valid_name(std::string(65536, 'n')));
  EXPECT_FALSE(is_valid_name(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_valid_name("a\x7f"));
  EXPECT_FALSE(is_valid_name("\t"));
  EXPECT_EQ(shortened("short"), "short");
  EXPECT_EQ(shortened(std::string(80, 'n')).size(), 80U);
  // 77 + 3: a shortened name has 80 bytes like the longest that is left alone.
  EXPECT_EQ(shortened(std::string(81, 'n')), std::string(77, 'n') + "...");
}

// Lengths of 2^63 - 1 and products that wrap.
TEST(GgufHeader, LengthsOfValuesAreHeldAgainstTheBytes) {
  // 4 * (2^63 - 1) and 4 * (2^64 - 1) wrap to small products that would pass a careless check.
  for (const uint64_t size : {uint64_t{1} << 40, uint64_t{INT64_MAX}, UINT64_MAX}) {
    EXPECT_EQ(key_error([&](GgufBytes& b) { b.number(uint32_t{8}).number(size).raw("ab"); }),
              fmt::format("Metadata key 'k': The string at byte 13 has {} bytes; 2 remain.", size));
    EXPECT_EQ(key_error([&](GgufBytes& b) {
                b.number(uint32_t{9}).number(uint32_t{4}).number(size).raw("abcd");
              }),
              fmt::format("Metadata key 'k': The value at byte 25 has {} elements of type u32; 4 "
                          "bytes remain.",
                          size));
    EXPECT_EQ(key_error([&](GgufBytes& b) {
                b.number(uint32_t{9}).number(uint32_t{8}).number(size).raw("abcdefgh");
              }),
              "Metadata key 'k': The file ends inside the array at byte 25: 8 bytes remain.");
    EXPECT_EQ(key_error([&](GgufBytes& b) {
                b.number(uint32_t{9}).number(uint32_t{8}).number(uint64_t{1}).number(size);
              }),
              fmt::format("Metadata key 'k': String 0 at byte 25 has {} bytes; 0 remain.", size));
  }
}

// And arrays of arrays, which no reader takes.
TEST(GgufHeader, ValuesOfUnknownTypes) {
  EXPECT_EQ(key_error([](GgufBytes& b) { b.number(uint32_t{13}).number(uint64_t{0}); }),
            "Metadata key 'k': The value before byte 13 is of the unknown type 13.");
  EXPECT_EQ(
      key_error([](GgufBytes& b) { b.number(uint32_t{9}).number(UINT32_MAX).number(uint64_t{0}); }),
      "Metadata key 'k': Elements before byte 25 are of the unknown type 4294967295.");
  EXPECT_EQ(key_error([](GgufBytes& b) {
              b.number(uint32_t{9}).number(uint32_t{9}).number(uint64_t{1});
            }),
            "Metadata key 'k': It is an array of arrays at byte 25; arrays hold plain values.");
  EXPECT_EQ(key_error([](GgufBytes& b) { b.number(uint32_t{7}).raw("\2"); }),
            "Metadata key 'k': A bool before byte 14 holds 2; 0 or 1 is needed.");
  EXPECT_EQ(key_error([](GgufBytes& b) {
              b.number(uint32_t{9}).number(uint32_t{7}).number(uint64_t{2}).raw("\1\xff");
            }),
            "Metadata key 'k': A bool before byte 27 holds 255; 0 or 1 is needed.");
}

// One tensor entry "t" of the given rank, extents, type and offset.
std::string entry_error(uint32_t rank, std::initializer_list<int64_t> dims, uint32_t type = 0) {
  GgufBytes b;
  b.text("t").number(rank);
  for (const int64_t dim : dims) b.number(dim);
  b.number(type).number(uint64_t{0}).raw(std::string(32, 'x'));
  ByteCursor cursor(as_span(b.bytes()));
  const auto entries = read_tensor_entries(cursor, 1);
  return entries ? (*entries)[0].shape.to_string() : entries.error().message;
}

// The file has the fastest axis first.
TEST(GgufHeader, ShapesAreReversedAndBounded) {
  EXPECT_EQ(entry_error(2, {3, 2}), "[2, 3]");
  EXPECT_EQ(entry_error(0, {}), "[]");
  EXPECT_EQ(entry_error(8, {1, 2, 1, 1, 1, 1, 1, 3}), "[3, 1, 1, 1, 1, 1, 2, 1]");
  EXPECT_EQ(entry_error(9, {1, 1, 1, 1, 1, 1, 1, 1, 1}),
            "Tensor 't': The rank before byte 13 is 9; the limit is 8.");
  EXPECT_EQ(entry_error(UINT32_MAX, {}),
            "Tensor 't': The rank before byte 13 is 4294967295; the limit is 8.");
  EXPECT_EQ(entry_error(1, {0}),
            "Tensor 't': The extent before byte 21 is 0; at least 1 is needed.");
  EXPECT_EQ(entry_error(2, {1, -1}),
            "Tensor 't': The extent before byte 29 is -1; at least 1 is needed.");
  EXPECT_NE(entry_error(2, {INT64_MAX, INT64_MAX}).find("Tensor 't': "), std::string::npos);
  EXPECT_EQ(entry_error(1, {1}, 9),
            "Tensor 't' before byte 33 is of type 9 (q8_1), which is for activations, not for "
            "weights.");
}

// Of any integer type.
TEST(GgufHeader, AlignmentIsAPowerOfTwo) {
  const auto alignment = [](MetadataValue value) {
    Metadata m;
    m.set("general.alignment", std::move(value));
    const auto result = read_alignment(m);
    return result ? std::to_string(*result) : result.error().message;
  };
  EXPECT_EQ(*read_alignment(Metadata()), 32);
  EXPECT_EQ(alignment(MetadataValue::number(uint32_t{8})), "8");
  EXPECT_EQ(alignment(MetadataValue::number(uint64_t{1} << 30)), "1073741824");
  for (const int64_t bad : {int64_t{0}, int64_t{1}, int64_t{4}, int64_t{33}, int64_t{-32},
                            int64_t{1} << 31, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(
        alignment(MetadataValue::number(bad)),
        fmt::format("Metadata key 'general.alignment' is {}; a power of two from 8 to 2^30 is "
                    "needed.",
                    bad));
  }
  EXPECT_EQ(alignment(MetadataValue::text("32")),
            "Metadata key 'general.alignment' is of type string; an integer is needed.");
}

// For names with dots and digits too.
TEST(GgufSplit, PathsAndPrefixesAreOpposites) {
  EXPECT_EQ(split_part_path("m", 0, 3), "m-00001-of-00003.gguf");
  EXPECT_EQ(split_part_path("a/b", 99998, 99999), "a/b-99999-of-99999.gguf");
  for (const int64_t index : {0, 1, 41}) {
    const SplitPlace place = {index, 42, std::nullopt};
    EXPECT_EQ(split_prefix(split_part_path("dir/x-1", index, 42), place), "dir/x-1");
  }
  EXPECT_EQ(split_prefix("m-00002-of-00003.gguf", {0, 3, {}}), std::nullopt);
  EXPECT_EQ(split_prefix("m.gguf", {0, 3, {}}), std::nullopt);
  EXPECT_EQ(split_prefix("-00001-of-00003.gguf", {0, 3, {}}), "");
}

// Part numbers count from 0 in metadata.
TEST(GgufSplit, PlacesComeBackAndAreChecked) {
  Metadata m;
  m.set("other", MetadataValue::text("kept"));
  ASSERT_TRUE(set_split_place(m, {2, 5, 77}));
  const auto place = read_split_place(m);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->index, 2);
  EXPECT_EQ(place->count, 5);
  EXPECT_EQ(place->num_tensors, 77);
  const Metadata without = without_split_keys(m);
  EXPECT_EQ(without.size(), 1);
  EXPECT_EQ(read_split_place(without)->count, 1);
  EXPECT_EQ(read_split_place(Metadata())->count, 1);
  const auto error = [](int64_t index, int64_t count) {
    Metadata wild;
    wild.set("split.no", MetadataValue::number(index));
    wild.set("split.count", MetadataValue::number(count));
    const auto result = read_split_place(wild);
    return result ? "none" : result.error().message;
  };
  EXPECT_EQ(error(7, 0), "none");  // what tools that merge parts leave behind
  EXPECT_EQ(error(7, 1), "none");
  EXPECT_EQ(error(1, 2), "none");
  EXPECT_EQ(error(2, 2), "Metadata key 'split.no' is 2; the set has 2 parts, numbered from 0.");
  EXPECT_EQ(error(-1, 2), "Metadata key 'split.no' is -1; the set has 2 parts, numbered from 0.");
  EXPECT_EQ(error(0, 100000), "Metadata key 'split.count' is 100000; 0 to 99999 are possible.");
  EXPECT_EQ(error(0, -3), "Metadata key 'split.count' is -3; 0 to 99999 are possible.");
}

// Files hold u16 and i32: a number past them was once cut, so that the parts contradicted the set.
TEST(GgufSplit, NumbersMustFitTheirKeys) {
  const auto error = [](const SplitPlace& place) {
    Metadata m;
    const auto done = set_split_place(m, place);
    // All or nothing.
    EXPECT_EQ(m.size(), done ? 3 : 0);
    return done ? "none" : done.error().message;
  };
  EXPECT_EQ(error({65534, 65535, INT32_MAX}), "none");
  EXPECT_EQ(error({0, 2, std::nullopt}), "none");
  EXPECT_EQ(error({0, 2, int64_t{INT32_MAX} + 1}),
            "Metadata key 'split.tensors.count' would be 2147483648; 0 to 2147483647 can be "
            "written.");
  EXPECT_EQ(error({0, 2, -1}),
            "Metadata key 'split.tensors.count' would be -1; 0 to 2147483647 can be written.");
  EXPECT_EQ(error({0, 65536, 1}),
            "Metadata key 'split.count' would be 65536; 0 to 65535 can be written.");
  EXPECT_EQ(error({65536, 99999, 1}),
            "Metadata key 'split.no' would be 65536; 0 to 65535 can be written.");
}

}  // namespace
}  // namespace quern::gguf
