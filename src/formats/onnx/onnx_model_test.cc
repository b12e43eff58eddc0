#include "formats/onnx/onnx_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "formats/onnx/onnx_importer.h"
#include "formats/onnx/wire_reader.h"
#include "quern/op.h"

namespace quern::onnx {
namespace {

// Protocol Buffers messages, built field by field.
class Message {
 public:
  Message& varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  // The key of a field is its number shifted by 3, with the wire type in the low bits: 0 is a
  // varint, 2 is sized bytes. Negative numbers are the varint of their 64 bits.
  Message& number(uint32_t tag, uint64_t value) { return varint(tag << 3).varint(value); }
  Message& text(uint32_t tag, std::string_view text) {
    varint(tag << 3 | 2).varint(text.size());
    bytes_ += text;
    return *this;
  }
  Message& message(uint32_t tag, const Message& inner) { return text(tag, inner.bytes_); }
  Message& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  std::string_view view() const { return bytes_; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span<const char>(bytes_)); }

 private:
  std::string bytes_;
};

// A typed value of a model.
Message value_info(std::string_view name, int type, std::initializer_list<int64_t> dims) {
  Message shape;
  for (const int64_t extent : dims)
    shape.message(1, Message().number(1, static_cast<uint64_t>(extent)));
  return Message().text(1, name).message(
      2, Message().message(1, Message().number(1, static_cast<uint64_t>(type)).message(2, shape)));
}

// One node over f32[2, 3] tensors x (and b).
Message model_of(const Message& node, std::initializer_list<std::string_view> inputs) {
  Message graph;
  graph.message(1, node);
  for (const std::string_view name : inputs) graph.message(11, value_info(name, 1, {2, 3}));
  graph.message(12, value_info("y", 1, {2, 3}));
  // IR version 9, the default domain in version 18, the graph.
  return Message().number(1, 9).message(8, Message().text(1, "").number(2, 18)).message(7, graph);
}
// A node without attributes.
Message node_of(std::string_view op, std::initializer_list<std::string_view> inputs) {
  Message node;
  for (const std::string_view name : inputs) node.text(1, name);
  return node.text(2, "y").text(4, op);
}

// WireReader -------------------------------------------------------------------------------------

// Of a message.
Result<WireField> first_field(std::string_view bytes) {
  return WireReader(std::as_bytes(std::span(bytes))).next();
}

// The four that are still in use.
TEST(WireReader, ReadsEveryType) {
  EXPECT_EQ(first_field(Message().number(5, 300).view())->number, 300U);
  EXPECT_EQ(first_field(Message().number(1, UINT64_MAX).view())->integer(), -1);
  EXPECT_EQ(first_field(Message().text(3, "abc").view())->text(), "abc");
  // 0x15 is field 2 with wire type 5, 0x11 below is field 2 with type 1; IEEE bytes, low first.
  EXPECT_EQ(first_field(std::string_view("\x15\x00\x00\x80\x3f", 5))->f32(), 1.0F);
  EXPECT_EQ(first_field(std::string_view("\x11\0\0\0\0\0\0\xf0\x3f", 9))->f64(), 1.0);
}

// With the offset.
TEST(WireReader, MalformedFieldsAreErrors) {
  for (const std::string_view bytes :
       // In this order: a key alone; text of 5 with 3 bytes; fixed numbers cut short; group types 3
       // and 4 and types 6; field number 0; 65 bits in ten bytes; eleven bytes; a key past 32 bits.
       {std::string_view("\x08"),
        std::string_view("\x0a\x05"
                         "abc"),
        std::string_view("\x0d\x01"), std::string_view("\x09\x01"), std::string_view("\x0b"),
        std::string_view("\x0c"), std::string_view("\x0e"), std::string_view("\x00\x01", 2),
        std::string_view("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        std::string_view("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}) {
    EXPECT_FALSE(first_field(bytes)) << bytes.size();
  }
}

// Writers may mix them.
TEST(WireReader, PackedRunsAndSingleNumbers) {
  std::vector<int64_t> integers;
  const std::string run = std::string(Message().varint(1).varint(300).varint(UINT64_MAX).view());
  ASSERT_TRUE(append_integers(*first_field(Message().text(1, run).view()), integers));
  ASSERT_TRUE(append_integers(*first_field(Message().number(1, 7).view()), integers));
  EXPECT_EQ(integers, (std::vector<int64_t>{1, 300, -1, 7}));
  EXPECT_FALSE(append_integers(*first_field(Message().text(1, "\x80").view()), integers));
  // 65 bits in ten bytes, and eleven bytes: refused in a run as they are outside of one.
  for (const std::string_view number :
       {std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}) {
    const auto done = append_integers(*first_field(Message().text(1, number).view()), integers);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(done.error().message,
              "Field 1: The message has a number of more than 64 bits before byte 10.");
  }
  EXPECT_EQ(integers.size(), 4U);
  std::vector<float> floats;
  EXPECT_FALSE(append_floats(*first_field(Message().text(1, "abc").view()), floats));
  EXPECT_TRUE(append_floats(
      *first_field(Message().text(1, std::string_view("\0\0\x80\x3f", 4)).view()), floats));
  EXPECT_EQ(floats, std::vector<float>{1});
}

// Tensors
// ------------------------------------------------------------------------------------------

// Without data.
Message tensor_of(int type, std::initializer_list<int64_t> dims) {
  Message tensor;
  for (const int64_t extent : dims) tensor.number(1, static_cast<uint64_t>(extent));
  return tensor.number(2, static_cast<uint64_t>(type)).text(8, "t");
}

// Raw bytes, or a field of the type.
TEST(OnnxTensor, DataComesInTwoForms) {
  const auto raw = parse_tensor(
      tensor_of(7, {2})
          .text(9, std::string_view("\5\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16))
          .bytes());
  ASSERT_TRUE(raw) << raw.error().message;
  EXPECT_EQ(raw->tensor->read_as<int64_t>().value(), (std::vector<int64_t>{5, -1}));
  const auto typed = parse_tensor(tensor_of(7, {2}).number(7, 5).number(7, UINT64_MAX).bytes());
  ASSERT_TRUE(typed) << typed.error().message;
  EXPECT_EQ(typed->tensor->read_as<int64_t>().value(), (std::vector<int64_t>{5, -1}));
  // Bits of f16 and bools lie in int32_data.
  EXPECT_EQ(parse_tensor(tensor_of(10, {1}).number(5, 0x3c00).bytes())
                ->tensor->read_as<uint16_t>()
                .value()[0],
            0x3c00);
  EXPECT_EQ(parse_tensor(tensor_of(9, {2}).number(5, 1).number(5, 0).bytes())
                ->tensor->read_as<uint8_t>()
                .value(),
            (std::vector<uint8_t>{1, 0}));
}

// For an error that helps.
TEST(OnnxTensor, TypesThatQuernHasNotAreKnownByName) {
  const auto text = parse_tensor(tensor_of(8, {1}).text(6, "hello").bytes());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_FALSE(text->tensor);
  EXPECT_EQ(data_type_name(8), "STRING");
  EXPECT_EQ(data_type_name(99), "type 99");
}

// Extents from files are multiplied with care.
TEST(OnnxTensor, SizesMustFit) {
  EXPECT_EQ(parse_tensor(tensor_of(1, {3}).text(9, "abcd").bytes()).error().message,
            "Tensor 't' of shape [3] and FLOAT has 12 bytes; 4 are there.");
  EXPECT_FALSE(parse_tensor(tensor_of(1, {-1}).bytes()));
  EXPECT_FALSE(parse_tensor(tensor_of(1, {int64_t{1} << 40, int64_t{1} << 40}).bytes()));
  EXPECT_FALSE(parse_tensor(tensor_of(1, {1, 1, 1, 1, 1, 1, 1, 1, 1}).bytes()));
  EXPECT_EQ(parse_tensor(tensor_of(1, {1}).number(14, 1).bytes()).error().code,
            ErrorCode::kUnimplemented);
}

// Models
// -------------------------------------------------------------------------------------------

// With attributes of every kind.
TEST(OnnxModel, ReadsNodesAndValues) {
  const Message attribute =
      Message().text(1, "alpha").raw(std::string_view("\x15\x00\x00\x00\x3f", 5)).number(20, 1);
  const auto model =
      parse_model(model_of(node_of("Elu", {"x"}).message(5, attribute), {"x"}).bytes());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->opset(""), 18);
  EXPECT_EQ(model->opset("other"), 0);
  ASSERT_EQ(model->nodes.size(), 1U);
  EXPECT_EQ(model->nodes[0].op_type, "Elu");
  EXPECT_EQ(model->nodes[0].find("alpha")->number, 0.5F);
  EXPECT_EQ(model->nodes[0].find("beta"), nullptr);
  EXPECT_EQ(*model->inputs[0].dims, (std::vector<int64_t>{2, 3}));
}

// Some cuts are valid messages, none may crash.
TEST(OnnxModel, EveryTruncationIsSafe) {
  const Message whole = model_of(node_of("Add", {"x", "b"}), {"x", "b"});
  for (size_t size = 0; size < whole.view().size(); ++size) {
    const auto model = parse_model(whole.bytes().first(size));
    if (model) {
      // Such a model lacks its output or an input's type: importing must say so.
      EXPECT_FALSE(import_model(*model, builtin_ops())) << size;
    }
  }
  EXPECT_EQ(parse_model({}).error().message,
            "The file holds no ONNX model: there is no graph in it.");
}

// The graph's text, or the error.
std::string import(const Message& model) {
  const auto parsed = parse_model(model.bytes());
  if (!parsed) return parsed.error().message;
  const auto graph = import_model(*parsed, builtin_ops());
  return graph ? print_graph(*graph) : graph.error().message;
}

// Where there is an equal one.
TEST(OnnxImporter, OneNodeBecomesOneOperation) {
  // The input that no node reads is left out of the graph.
  EXPECT_EQ(import(model_of(node_of("Add", {"x", "b"}), {"x", "b", "unused"})), R"(graph {
  %x = Input() {type = "f32[2, 3]"} : f32[2, 3]
  %b = Input() {type = "f32[2, 3]"} : f32[2, 3]
  %math.add.0 = math.add(%x, %b) : f32[2, 3]
  output y = %math.add.0
}
)");
}

// And its operator.
TEST(OnnxImporter, ErrorsNameTheNode) {
  EXPECT_EQ(import(model_of(node_of("NonMaxSuppression", {"x"}), {"x"})),
            "Node '' (NonMaxSuppression): The shape of the result depends on values.");
  EXPECT_EQ(import(model_of(node_of("Reshape", {"x", "b"}), {"x", "b"})),
            "Node '' (Reshape): Input 'b' of Reshape must be known when the model is read.");
  EXPECT_EQ(import(model_of(node_of("Add", {"x", "none"}), {"x"})),
            "Node '' (Add): Input 'none' has no value.");
}

// A table that lost a row would be noticed.
TEST(OnnxImporter, KnowsMoreThanAHundredOperators) {
  const auto names = known_operators();
  EXPECT_GE(names.size(), 130U);
  EXPECT_TRUE(std::ranges::adjacent_find(names) == names.end());
}

}  // namespace
}  // namespace quern::onnx
