// Tensors of the command line: NAME=FILE, both file formats, and one line that describes them.
#include "cli/tensor_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formats/safetensors.h"
#include "support/temporary_folder.h"

namespace quern::cli {
namespace {

template <class T>
Tensor tensor(DType dtype, const Shape& shape, const std::vector<T>& values) {
  return *Tensor::from<T>(dtype, shape, values);
}

// At the first '='.
TEST(SplitAssignment, NeedsBothSides) {
  const auto parts = [](std::string_view text) {
    const auto split = split_assignment(text, "--input");
    return split ? split->first + " | " + split->second : split.error().message;
  };
  EXPECT_EQ(parts("x=y"), "x | y");
  EXPECT_EQ(parts("x=a=b"), "x | a=b");  // paths may hold one
  EXPECT_EQ(parts("a.b=="), "a.b | =");
  for (const char* bad : {"", "x", "=", "=x", "x="}) {
    EXPECT_EQ(parts(bad), "--input " + std::string(bad) + " does not have the form NAME=VALUE.");
  }
}

// Bit for bit, denormals and negative zero too.
TEST(TensorFiles, BothFormatsGiveTheTensorBack) {
  const test::TemporaryFolder folder("tensor_files");
  const Tensor values = tensor<float>(DType::kF32, Shape{2, 2}, {1.5F, -0.0F, 3e38F, 1e-45F});
  for (const char* name : {"t.npy", "t.safetensors"}) {
    const std::string path = folder.file(name);
    ASSERT_TRUE(write_tensor_file(path, "w", values));
    const auto back = read_tensor_file(path, "w");
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->shape(), values.shape());
    EXPECT_EQ(back->read().value(), values.read().value());
  }
  // An array file has one tensor whatever it is called; a safetensors file has names.
  EXPECT_TRUE(read_tensor_file(folder.file("t.npy"), "other"));
  const auto other = read_tensor_file(folder.file("t.safetensors"), "other");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("'other'"), std::string::npos) << other.error().message;
  EXPECT_EQ(read_tensor_file(folder.file("none.npy"), "w").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_tensor_file(folder.file("none.safetensors"), "w").error().code,
            ErrorCode::kNotFound);
  EXPECT_FALSE(write_tensor_file(folder.file("no/folder/t.npy"), "w", values));
}

// NaN has no place in a range.
TEST(DescribeTensor, NamesTypeShapeRangeAndBegin) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(*describe_tensor(tensor<double>(DType::kF64, Shape{2, 3}, {1, 2, -0.5, 7.25, 0, 3})),
            "f64[2, 3] from -0.5 to 7.25: 1 2 -0.5 7.25 0 3");
  EXPECT_EQ(*describe_tensor(tensor<int32_t>(DType::kI32, Shape{}, {-4})),
            "i32[] from -4 to -4: -4");
  EXPECT_EQ(*describe_tensor(tensor<float>(DType::kF32, Shape{0}, {})), "f32[0]");
  EXPECT_EQ(*describe_tensor(tensor<float>(DType::kF32, Shape{3, 0}, {})), "f32[3, 0]");
  EXPECT_EQ(*describe_tensor(tensor<float>(DType::kF32, Shape{2}, {nan, nan})),
            "f32[2] all NaN: nan nan");
  EXPECT_EQ(*describe_tensor(tensor<float>(DType::kF32, Shape{3}, {nan, 1, -infinity})),
            "f32[3] from -inf to 1: nan 1 -inf");
  EXPECT_EQ(*describe_tensor(tensor<int64_t>(DType::kI64, Shape{9}, {1, 2, 3, 4, 5, 6, 7, 8, 9})),
            "i64[9] from 1 to 9: 1 2 3 4 5 6 7 8 ...");
  EXPECT_EQ(*describe_tensor(tensor<int64_t>(DType::kI64, Shape{8}, {8, 7, 6, 5, 4, 3, 2, 1})),
            "i64[8] from 1 to 8: 8 7 6 5 4 3 2 1");
}

// An f64 holds 53 bits of them.
TEST(ElementTexts, IntegersKeepAllDigits) {
  const Tensor large = tensor<uint64_t>(DType::kU64, Shape{3}, {UINT64_MAX, (1ULL << 53) + 1, 0});
  const std::vector<std::string> texts = {"18446744073709551615", "9007199254740993", "0"};
  EXPECT_EQ(*element_texts(large, 9), texts);
  EXPECT_EQ(element_texts(large, 1)->size(), 1U);
  EXPECT_EQ(*describe_tensor(large),
            "u64[3] from 0 to 18446744073709551615: 18446744073709551615 9007199254740993 0");
  const Tensor low = tensor<int64_t>(DType::kI64, Shape{2}, {INT64_MIN, -((1LL << 53) + 1)});
  EXPECT_EQ(*describe_tensor(low),
            "i64[2] from -9223372036854775808 to -9007199254740993: -9223372036854775808 "
            "-9007199254740993");
  EXPECT_EQ(element_texts(tensor<int8_t>(DType::kI8, Shape{2}, {-128, 7}), 2)->at(0), "-128");
  EXPECT_EQ(element_texts(tensor<double>(DType::kF64, Shape{1}, {0.1}), 2)->at(0), "0.1");
  EXPECT_TRUE(element_texts(tensor<int64_t>(DType::kI64, Shape{0}, {}), 4)->empty());
  EXPECT_FALSE(element_texts(*Tensor::zeros(DType::kQ8_0, Shape{32}), 4));
}

// Two numbers each.
TEST(ElementTexts, ComplexNumbersArePairs) {
  const Tensor z = *Tensor::zeros(DType::kComplex128, Shape{5});
  EXPECT_EQ(num_numbers(z), 10);
  EXPECT_EQ(element_texts(z, 64)->size(), 10U);
  EXPECT_EQ(*describe_tensor(z), "complex128[5] from 0 to 0: 0 0 0 0 0 0 0 0 ...");
}

// The name tells what is inside.
TEST(CheckTensorPath, OnlyEndingsOfFormats) {
  const auto error = [](std::string_view path, bool only_npy) {
    const auto checked = check_tensor_path(path, "--output y", only_npy);
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(error("a/y.npy", false), "");
  EXPECT_EQ(error("y.safetensors", false), "");
  EXPECT_EQ(error("y.npy", true), "");
  for (const char* bad : {"y", "y.txt", "y.NPY", "y.npz", "npy", "", "y.npy.gz", "/dev/null"}) {
    EXPECT_EQ(error(bad, false), "--output y: '" + std::string(bad) +
                                     "' does not end in .npy or .safetensors, which is what "
                                     "results are written as.");
  }
  EXPECT_EQ(error("y.safetensors", true),
            "--output y: 'y.safetensors' does not end in .npy, which is what results are written "
            "as.");
}

// Their numbers would need a decoder.
TEST(DescribeTensor, BlockFormatsHaveNoElements) {
  EXPECT_EQ(*describe_tensor(*Tensor::zeros(DType::kQ8_0, Shape{2, 32})), "q8_0[2, 32]");
}

}  // namespace
}  // namespace quern::cli
