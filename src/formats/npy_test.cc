#include "formats/npy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "formats/npy_header.h"
#include "support/temporary_folder.h"

namespace quern {
namespace {

// Of bytes in memory.
Result<NpyArray> parse(std::string_view text) {
  const auto copy = std::make_shared<std::string>(text);
  return parse_npy(std::as_bytes(std::span<const char>(*copy)), copy);
}

// A version 1 file with this header text, unpadded.
std::string npy(std::string_view header, std::string_view data) {
  std::string file = "\x93NUMPY";
  file +=
      {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return file.append(header).append(data);
}

// With this header and data.
std::string error_of(std::string_view header, std::string_view data = "") {
  const auto array = parse(npy(header, data));
  return array ? "no error" : array.error().message;
}

// What numpy.save writes for numpy.array([[1, 2, 3]], dtype='<i2').
TEST(Npy, WritesWhatNumpyWrites) {
  const test::TemporaryFolder folder("npy");
  const std::string path = folder.file("exact.npy");
  const auto tensor =
      Tensor::from<int16_t>(DType::kI16, Shape{1, 3}, std::array<int16_t, 3>{1, 2, 3});
  ASSERT_TRUE(write_npy(path, *tensor));
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  std::string expected = "\x93NUMPY";
  // Version 1.0, then the size of the text: 'v' is 118, and 6 + 2 + 2 + 118 = 128.
  expected += std::string("\1\0v\0", 4);
  expected += "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 3), }";
  expected.resize(127, ' ');
  expected += '\n' + std::string("\1\0\2\0\3\0", 6);
  EXPECT_EQ(bytes, expected);
}

// From rank 0 on, and with extents of 0.
TEST(Npy, EveryTypeAndRankComesBack) {
  const test::TemporaryFolder folder("npy");
  const std::string path = folder.file("round.npy");
  int num_types = 0;
  for (const DTypeInfo& info : all_dtypes()) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 0, 2}, Shape{2, 3, 1, 5}}) {
      if (info.block_size != 1 || !npy::make_header(info.dtype, shape, false)) continue;
      const auto size = dense_size_bytes(info.dtype, shape).value();
      std::vector<std::byte> bytes(static_cast<size_t>(size));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(37 * i + 11);
      const auto tensor = Tensor::from_bytes(info.dtype, shape, bytes);
      ASSERT_TRUE(write_npy(path, *tensor)) << info.name;
      const auto back = read_npy(path);
      ASSERT_TRUE(back) << info.name << ": " << back.error().message;
      EXPECT_EQ(back->tensor.dtype(), info.dtype);
      EXPECT_EQ(back->tensor.shape(), shape);
      EXPECT_EQ(back->tensor.read().value(), bytes);
      EXPECT_FALSE(back->is_bool);
      ++num_types;
    }
  }
  // The 13 types of NumPy that tensors have (bool apart), each in five shapes.
  EXPECT_EQ(num_types, 13 * 5);
}

// So that they are written as bools again.
TEST(Npy, BoolsAreBytesWithANote) {
  const test::TemporaryFolder folder("npy");
  const std::string path = folder.file("bool.npy");
  const auto tensor = Tensor::from<uint8_t>(DType::kU8, Shape{3}, std::array<uint8_t, 3>{1, 0, 1});
  ASSERT_TRUE(write_npy(path, NpyArray{*tensor, true}));
  const auto back = read_npy(path);
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->is_bool);
  EXPECT_EQ(back->tensor.read_as<uint8_t>().value(), (std::vector<uint8_t>{1, 0, 1}));
}

// Into row-major order.
TEST(Npy, FortranOrderIsTransposed) {
  const auto array =
      // Columns one after the other: (1, 4), (2, 5), (3, 6).
      parse(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", "\1\4\2\5\3\6"));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(array->tensor.read_as<uint8_t>().value(), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
}

// Each half on its own.
TEST(Npy, BigEndianIsSwappedComplexPartByPart) {
  const auto integers =
      parse(npy("{'descr':'>i2','shape':(1,),'fortran_order':False,}", "\x12\x34"));
  ASSERT_TRUE(integers) << integers.error().message;
  EXPECT_EQ(integers->tensor.read_as<int16_t>().value(), std::vector<int16_t>{0x1234});
  const auto complex = parse(
      npy("{\"descr\": \">c8\", \"fortran_order\": False, \"shape\": ()}", "\x01\x02\x03\x04mnop"));
  ASSERT_TRUE(complex) << complex.error().message;
  const auto bytes = complex->tensor.read().value();
  // Two f32 of 4 bytes, each reversed on its own: "\1\2\3\4" and "mnop".
  EXPECT_EQ(static_cast<char>(bytes[0]), '\4');
  EXPECT_EQ(static_cast<char>(bytes[4]), 'p');
}

// Headers are Python; this reader is not.
TEST(Npy, HostileHeadersAreErrors) {
  EXPECT_EQ(error_of("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "12345678"),
            "An array of shape [3] has 12 bytes; the file holds 8.");
  EXPECT_EQ(error_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "12345678"),
            "An array of shape [1] has 4 bytes; the file holds 8.");
  EXPECT_EQ(error_of("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
            "The element type '|O' is not supported.");
  EXPECT_EQ(error_of("{'descr': '|f4', 'fortran_order': False, 'shape': (), }"),
            "The element type '|f4' is not supported.");
  EXPECT_EQ(error_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"),
            "The 'descr' of the header is not one plain element type.");
  EXPECT_EQ(error_of("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }"),
            "The 'fortran_order' of the header is neither True nor False.");
  EXPECT_EQ(error_of("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"),
            "The 'shape' of the header holds no valid extent.");
  // Past 64 bits, which Python would take.
  EXPECT_EQ(error_of("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
            "The 'shape' of the header holds no valid extent.");
  EXPECT_EQ(error_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }"),
            "The 'shape' of the header has more than 8 extents.");
  EXPECT_EQ(error_of("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
            "The header has the key 'descr' twice or out of place.");
  EXPECT_EQ(error_of("{'descr': '<f4', 'shape': (1,), }"),
            "The header does not hold exactly 'descr', 'fortran_order' and 'shape'.");
  EXPECT_EQ(error_of("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", "\2"),
            "An array of bools holds 2; 0 or 1 is needed.");
  EXPECT_FALSE(
      parse(npy("{'descr': '<f4', 'fortran_order': False, "
                "'shape': (4294967296, 4294967296), }",
                "")));
}

// Of header and data.
TEST(Npy, EveryTruncationIsAnError) {
  const std::string whole =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "12345678");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse(std::string_view(whole).substr(0, size))) << size;
  }
  EXPECT_TRUE(parse(whole));
}

// bf16 and block formats.
TEST(Npy, TypesWithoutNumpyFormAreRefused) {
  const test::TemporaryFolder folder("npy");
  const auto tensor = Tensor::zeros(DType::kBF16, Shape{2});
  const auto written = write_npy(folder.file("bf16.npy"), *tensor);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(written.error().message,
            "NumPy has no element type for bf16; convert the tensor first.");
}

// Written by NumPy itself.
TEST(Npy, ReadsFilesOfTheSuites) {
  const std::filesystem::path path =
      std::filesystem::path(QUERN_SUITES_DIR) / "tiny_models/llama/logits64_5.npy";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "The suite tiny_models is absent.";
  const auto array = read_npy(path);
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->tensor.shape(), (Shape{5, 384}));
  EXPECT_EQ(array->tensor.dtype(), DType::kF64);
  EXPECT_EQ(array->tensor.buffer().place(), "file");
  const auto values = array->tensor.read_as<double>().value();
  const double largest =
      *std::ranges::max_element(values, {}, [](double x) { return x < 0 ? -x : x; });
  EXPECT_GT(std::abs(largest), 1.0);
  EXPECT_LT(std::abs(largest), 20.0);
}

}  // namespace
}  // namespace quern
