#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/temporary_folder.h"

namespace quern {
namespace {

// Of bytes in memory.
Result<std::shared_ptr<SafetensorsFile>> parse(std::string_view bytes) {
  const auto copy = std::make_shared<std::string>(bytes);
  return SafetensorsFile::parse(std::as_bytes(std::span<const char>(*copy)), copy);
}

// A file with this header text, unpadded.
std::string file_of(std::string_view header, std::string_view data = "") {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes.append(header).append(data);
}

// With this header and data.
std::string error_of(std::string_view header, std::string_view data = "") {
  const auto file = parse(file_of(header, data));
  return file ? "no error" : file.error().message;
}

// All bytes of it.
std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Written by the format's own library (safetensors 0.5 for Python) from PyTorch tensors.
const std::string& library_file() {
  static const std::string path =
      std::string(QUERN_TEST_DATA_DIR) + "/safetensors/mixed.safetensors";
  return path;
}

// A file of the format's own library.
TEST(Safetensors, ReadsWhatTheLibraryWrote) {
  const auto file = SafetensorsFile::open(library_file());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->metadata().at("format"), "pt");
  EXPECT_EQ((*file)->list().size(), 10U);
  const auto weight = (*file)->weight("weight");
  ASSERT_TRUE(weight) << weight.error().message;
  EXPECT_EQ(weight->shape(), (Shape{2, 3}));
  EXPECT_EQ(weight->read_as<float>().value(), (std::vector<float>{0, 0.25, 0.5, 0.75, 1, 1.25}));
  EXPECT_EQ((*file)->weight("ids")->read_as<int64_t>().value(),
            (std::vector<int64_t>{1, -2, int64_t{1} << 40}));
  EXPECT_EQ((*file)->weight("scalar")->shape().rank(), 0);
  EXPECT_EQ((*file)->weight("scalar")->read_as<double>().value(), std::vector<double>{2.5});
  // f16 codes of 1.5 and -2; below, bf16 codes of 0.5 and 3, and e4m3 codes of 1 and -0.5.
  EXPECT_EQ((*file)->weight("half")->read_as<uint16_t>().value(),
            (std::vector<uint16_t>{0x3e00, 0xc000}));
  EXPECT_EQ((*file)->weight("brain")->read_as<uint16_t>().value(),
            (std::vector<uint16_t>{0x3f00, 0x4040}));
  EXPECT_EQ((*file)->weight("mask")->read_as<uint8_t>().value(), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ((*file)->weight("f8")->read_as<uint8_t>().value(), (std::vector<uint8_t>{0x38, 0xb0}));
  EXPECT_EQ((*file)->weight("empty")->shape(), (Shape{0, 4}));
  EXPECT_EQ((*file)->info("cplx")->dtype, DType::kComplex64);
}

// The same bytes for the same tensors.
TEST(Safetensors, WritesTheBytesOfTheLibrary) {
  const auto source = SafetensorsFile::open(library_file());
  ASSERT_TRUE(source) << source.error().message;
  std::vector<NamedTensor> tensors;
  for (const WeightInfo& info : (*source)->list()) {
    tensors.push_back({info.name, *(*source)->weight(info.name), info.name == "mask"});
  }
  // Byte for byte: order of entries, spelling of the JSON and padding are those of the library.
  std::reverse(tensors.begin(), tensors.end());  // the order given does not matter
  const test::TemporaryFolder folder("safetensors");
  const auto written = write_safetensors(folder.file("out"), tensors, (*source)->metadata());
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(read_file(folder.file("out")), read_file(library_file()));
}

// With extents of 0.
TEST(Safetensors, EveryTypeAndRankComesBack) {
  const test::TemporaryFolder folder("safetensors_types");
  int num_types = 0;
  for (const DTypeInfo& info : all_dtypes()) {
    if (safetensors::find_element_type(info.dtype, false) == nullptr) continue;
    std::vector<NamedTensor> tensors;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 3, 1, 5}}) {
      std::vector<std::byte> bytes(
          static_cast<size_t>(dense_size_bytes(info.dtype, shape).value()));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(37 * i + 11);
      const auto tensor = Tensor::from_bytes(info.dtype, shape, bytes);
      tensors.push_back({shape.to_string(), *tensor, false});
    }
    ASSERT_TRUE(write_safetensors(folder.file("x"), tensors)) << info.name;
    const auto back = SafetensorsFile::open(folder.file("x"));
    ASSERT_TRUE(back) << info.name << ": " << back.error().message;
    for (const NamedTensor& item : tensors) {
      const auto tensor = (*back)->weight(item.name);
      ASSERT_TRUE(tensor) << tensor.error().message;
      EXPECT_EQ(tensor->dtype(), info.dtype);
      EXPECT_EQ(tensor->shape(), item.tensor.shape());
      EXPECT_EQ(tensor->read().value(), item.tensor.read().value());
    }
    ++num_types;
  }
  EXPECT_EQ(num_types, 15);  // of the format's 20: all but BOOL and the four below a byte or e8m0
}

// They keep the mapping.
TEST(Safetensors, TensorsOutliveTheFile) {
  std::optional<Tensor> kept;
  {
    const auto file = SafetensorsFile::open(library_file());
    ASSERT_TRUE(file);
    kept = (*file)->weight("ids").value();
  }
  EXPECT_EQ(kept->read_as<int64_t>().value()[1], -2);
}

// Old writers do not pad the header: the data may stand at any address.
TEST(Safetensors, UnalignedTensorsAreCopied) {
  std::string data(8, '\0');
  data[6] = '\x80';
  data[7] = '\x3f';  // 0.0F, 1.0F
  // Four headers whose sizes differ by one: the data stand at each address modulo 4 once.
  for (const char* pad : {"", " ", "  ", "   "}) {
    const auto file = parse(file_of(
        std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})") + pad, data));
    ASSERT_TRUE(file) << file.error().message;
    const auto tensor = (*file)->weight("a");
    const auto view = tensor->host_view();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view->data()) % 4, 0U);
    EXPECT_EQ(tensor->read_as<float>().value(), (std::vector<float>{0, 1}));
  }
}

// The others of the file are still of use.
TEST(Safetensors, TypesWithoutADTypeAreListedButNotRead) {
  const auto file = parse(file_of(R"({"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]},
                                      "b":{"dtype":"I8","shape":[1],"data_offsets":[2,3]}})",
                                  "xyz"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->entries().size(), 2U);
  EXPECT_EQ((*file)->list().size(), 1U);
  const auto tensor = (*file)->weight("a");
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(tensor.error().message, "Tensor 'a' has the dtype F4, which Quern does not read.");
  EXPECT_EQ((*file)->weight("none").error().message, "The file has no tensor 'none'.");
}

// Only metadata, or not even that.
TEST(Safetensors, EmptyFilesOfTensorsAreValid) {
  EXPECT_TRUE(parse(file_of("{}")));
  EXPECT_TRUE(parse(file_of("{}      ")));
  EXPECT_TRUE(parse(file_of(R"({"__metadata__":{}})")));
}

// At each byte.
TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string whole = read_file(library_file());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse(std::string_view(whole).substr(0, size))) << size;
  }
  const auto longer = parse(whole + "x");
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().message, "The tensors cover 79 bytes of the data; the file holds 80.");
}

// An error or another valid header, never a crash.
TEST(Safetensors, EveryFlippedBitOfTheHeaderIsSafe) {
  const std::string whole = read_file(library_file());
  // Damage behind the header changes values, which no reader can notice.
  const size_t header_end = whole.find("}}") + 2;
  for (size_t bit = 0; bit < header_end * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto file = parse(damaged);
    if (!file) continue;
    for (const WeightInfo& info : (*file)->list()) EXPECT_TRUE((*file)->weight(info.name));
  }
}

// Lengths of 2^63 must not be believed.
TEST(Safetensors, HeaderLengthsAreBounded) {
  EXPECT_EQ(parse("").error().message, "The file has 0 bytes; a safetensors file has 8 and more.");
  EXPECT_EQ(
      parse(std::string(8, '\xff')).error().message,
      "The header has 18446744073709551615 bytes; the limit is 100000000. Is it a safetensors "
      "file?");
  EXPECT_EQ(parse(std::string("\x05\0\0\0\0\0\0\0{}", 10)).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(error_of(" {}"), "The header does not begin with '{'.");
  EXPECT_EQ(error_of("{} x"), "The header is no JSON at its byte 4.");
}

// One row for each rule of the format.
TEST(Safetensors, MalformedHeadersSayWhatIsWrong) {
  const struct {
    const char* header;
    const char* error;
  } cases[] = {
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
           "a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "The name 'a' is used twice."},
      {R"({"a":{"dtype":"F32","shape":[1]}})",
       "Tensor 'a' needs 'dtype', 'shape' and 'data_offsets'."},
      {R"({"a":{"dtype":"F32","shape":[1],"shape":[1]}})", "Tensor 'a', 'shape', is there twice."},
      {R"({"a":{"dtype":"F99"}})", "Tensor 'a' has the unknown dtype 'F99'."},
      {R"({"a":{"color":1}})", "Tensor 'a', 'color', is an unknown key."},
      {R"({"a":{"dtype":5}})", "Tensor 'a', 'dtype', holds a number out of place."},
      {R"({"a":{"shape":[-1]}})", "Tensor 'a', 'shape', holds -1; it cannot be negative."},
      {R"({"a":{"shape":[1.5]}})", "Tensor 'a', 'shape', holds a fraction out of place."},
      {R"({"a":{"shape":[[1]]}})", "Tensor 'a', 'shape', holds a list out of place."},
      {R"({"a":{"shape":[1,1,1,1,1,1,1,1,1,1]}})", "Tensor 'a', 'shape', has more than 8 numbers."},
      {R"({"a":{"shape":[18446744073709551615]}})",
       "Tensor 'a', 'shape', holds a number over 2^63."},
      {R"({"a":{"dtype":{}}})", "Tensor 'a', 'dtype', holds an object out of place."},
      {R"({"a":{"data_offsets":[0]}})", "Tensor 'a', 'data_offsets', has 1 numbers; it needs 2."},
      {R"({"a":null})", "The header holds null out of place."},
      {R"({"a":[]})", "The header holds a list out of place."},
      {R"({"__metadata__":{"a":1}})", "The metadata 'a' holds a number out of place."},
      {R"({"__metadata__":{"a":{}}})", "The metadata 'a' holds an object out of place."},
      {R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})",
       "Tensor 'a' of shape [3] and dtype F4 has no size in whole bytes."},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
       "Tensor 'a' of shape [2] and dtype F32 needs 8 bytes; its offsets are 0 to 4."},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
       "Tensor 'a' of shape [1] and dtype F32 needs 4 bytes; its offsets are 4 to 0."},
      // 2^62 - 1 elements are an allowed shape, but 64 times that is past 2^63: the product is
      // checked.
      {R"({"a":{"dtype":"F64","shape":[4611686018427387903],"data_offsets":[0,8]}})",
       "Tensor 'a' of shape [4611686018427387903] and dtype F64 has no size in whole bytes."},
      {R"({"a":{"dtype":"I8","shape":[9],"data_offsets":[0,9]}})",
       "Tensor 'a' ends at byte 9 of the data; the file holds 4."},
      {R"({"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},
           "b":{"dtype":"I8","shape":[3],"data_offsets":[1,4]}})",
       "Tensor 'b' begins at byte 1 of the data; the one before ends at 2."},
      {R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[1,2]}})",
       "Tensor 'a' begins at byte 1 of the data; the one before ends at 0."},
      {R"({"a":{"dtype":"I8","shape":[3],"data_offsets":[0,3]}})",
       "The tensors cover 3 bytes of the data; the file holds 4."},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of(c.header, "1234"), c.error) << c.header;
}

// Extents whose product passes 2^62, and nesting far beyond what the format has.
TEST(Safetensors, HostileHeadersAreCheap) {
  EXPECT_NE(error_of(R"({"a":{"shape":[4294967296,4294967296]}})").find("Tensor 'a', 'shape',:"),
            std::string::npos);
  // Refused at the first bracket: a parser that recurses would use up the stack.
  EXPECT_EQ(error_of("{\"a\":" + std::string(1'000'000, '[')),
            "The header holds a list out of place.");
  EXPECT_EQ(error_of("{\"a\xff\":{}}").substr(0, 22), "The header is no JSON ");
}

// Before a file is made.
TEST(Safetensors, TheWriterRefusesWhatTheFormatHasNot) {
  const test::TemporaryFolder folder("safetensors_errors");
  const auto tensor = Tensor::from<float>(DType::kF32, Shape{1}, std::array<float, 1>{1});
  const auto error = [&](std::vector<NamedTensor> tensors) {
    const auto written = write_safetensors(folder.file("x"), tensors);
    return written ? "no error" : written.error().message;
  };
  EXPECT_EQ(error({{"a", *tensor}, {"a", *tensor}}),
            "The tensor name 'a' is used twice or reserved.");
  EXPECT_EQ(error({{"__metadata__", *tensor}}),
            "The tensor name '__metadata__' is used twice or reserved.");
  EXPECT_EQ(error({{"a", *tensor, true}}),
            "Tensor 'a' is f32 with bools; safetensors has no such type.");
  EXPECT_EQ(error({{"a\xff", *tensor}}), "A tensor's name or the metadata is not valid UTF-8.");
  EXPECT_EQ(error({{"a", *Tensor::zeros(DType::kQ8_0, Shape{32})}}),
            "Tensor 'a' is q8_0; safetensors has no such type.");
  EXPECT_FALSE(std::filesystem::exists(folder.file("x")));
}

}  // namespace
}  // namespace quern
